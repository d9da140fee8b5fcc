#include "server/transfer/device_transfer.h"

#include <algorithm>
#include <array>
#include <memory>

#include "server/transfer/in_place_transfer.h"

namespace remotecl::server {
namespace {

class DeviceTransfer final : public Transfer {
 public:
  DeviceTransfer(const DeviceTransferCommand& command, Issue& issue, cl_mem from, cl_mem to)
      : Transfer(0, issue.queue, issue.event, issue.hold, command.region.size),
        region_(command.region),
        source_(*command.source),
        from_(from),
        to_(to),
        waits_(issue.waits) {
    clRetainMemObject(from);
    clRetainMemObject(to);
  }
  ~DeviceTransfer() override {
    clReleaseMemObject(from_);
    clReleaseMemObject(to_);
  }

  // Call it before move().
  void find_places() REQUIRES(session_lock) {
    source_place_.find(region_, source_);
    if (source_place_.memory == nullptr) place_.find(region_, queue().device());
  }

  // Borrows a ring of the source, whose queue it must use for reading.
  void move(StagingPool& rings) {
    ring_ = rings.take(source_);
    const cl_int error = move_all();
    rings.give_back(source_, std::move(ring_));
    if (error == CL_SUCCESS) return;
    set_error(error);
    if (last_) clWaitForEvents(1, last_.list());  // commands that overwrite the destination may come next
  }

  cl_int finish(Native<cl_event>& native) override {
    native = last_.copy();
    return native ? CL_SUCCESS : CL_INVALID_EVENT;
  }

 private:
  cl_int move_all() {
    if (!region_.is_range()) return move_packed();
    if (source_place_.memory != nullptr) return move_from_place();
    if (place_.memory != nullptr) return move_into_place();
    return move_in_pieces();
  }
  cl_command_queue reader() { return ring_->queue(); }
  // `event` belongs to the newest native command.
  void went(Native<cl_event> event) {
    last_ = std::move(event);
    if (!first()) set_first(last_.copy());
  }

  cl_int move_packed() {
    const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size()]);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    Native<cl_event> read;
    cl_int error = region_.read_from(from_, reader(), bytes.get(), 0, nullptr, read.out());
    if (error != CL_SUCCESS) return error;
    error = clWaitForEvents(1, read.list());
    Native<cl_event> written;
    if (error == CL_SUCCESS) {
      error = region_.write_to(to_, queue().native(), bytes.get(), waits_.count(), waits_.list(), written.out());
    }
    if (error != CL_SUCCESS) return error;
    went(std::move(written));
    return clWaitForEvents(1, last_.list());
  }

  cl_int move_from_place() {
    Native<cl_event> written;
    const cl_int error = clEnqueueWriteBuffer(queue().native(), to_, CL_FALSE, region_.offset, size(),
                                              source_place_.memory, waits_.count(), waits_.list(), written.out());
    if (error != CL_SUCCESS) return error;
    went(std::move(written));
    return clWaitForEvents(1, last_.list());
  }

  cl_int move_into_place() {
    Native<cl_event> begun, ended;
    cl_int error = place_.take_turn(queue().native(), waits_.count(), waits_.list(), begun.out());
    if (error == CL_SUCCESS) error = clWaitForEvents(1, begun.list());
    if (error != CL_SUCCESS) return error;
    went(begun.copy());
    error = clEnqueueReadBuffer(reader(), from_, CL_TRUE, region_.offset, size(), place_.memory, 0, nullptr, nullptr);
    if (error == CL_SUCCESS) error = place_.take_turn(queue().native(), 1, begun.list(), ended.out());
    if (error == CL_SUCCESS) went(std::move(ended));
    return error;
  }

  // Reads run ahead of writes by at most all slots but one.
  cl_int move_in_pieces() {
    StagingRing& ring = *ring_;
    struct Piece {
      StagingRing::Slot* slot;
      std::uint64_t offset, size;
    };
    std::array<Piece, StagingRing::kSlots> pieces{};
    std::uint64_t asked = 0, moved = 0;
    std::size_t newest = 0, oldest = 0;
    cl_int error = CL_SUCCESS;
    while (moved < size() && error == CL_SUCCESS) {
      while (asked < size() && newest - oldest < StagingRing::kSlots - 1 && error == CL_SUCCESS) {
        const std::uint64_t piece = std::min<std::uint64_t>(size() - asked, ring.slot_size());
        cl_int of_another = CL_SUCCESS;  // of an earlier transfer on this thread, which reports it itself
        StagingRing::Slot& slot = ring.next(of_another);
        error = clEnqueueReadBuffer(ring.queue(), from_, CL_FALSE, region_.offset + asked, piece, slot.data, 0, nullptr,
                                    slot.busy.out());
        if (error != CL_SUCCESS) break;
        clFlush(ring.queue());
        pieces[newest++ % pieces.size()] = {&slot, asked, piece};
        asked += piece;
      }
      if (newest == oldest) break;
      const Piece& piece = pieces[oldest++ % pieces.size()];
      const cl_int read = clWaitForEvents(1, piece.slot->busy.list());
      piece.slot->busy.reset();
      if (error == CL_SUCCESS) error = read;
      if (error != CL_SUCCESS) break;
      Native<cl_event> written;
      error = clEnqueueWriteBuffer(queue().native(), to_, CL_FALSE, region_.offset + piece.offset, piece.size,
                                   piece.slot->data, waits_.count(), waits_.list(), written.out());
      if (error != CL_SUCCESS) break;
      clFlush(queue().native());
      piece.slot->busy = written.copy();
      // In an out-of-order queue each piece waits for the one before it, so that the last one ends last.
      waits_.assign(written.copy());
      went(std::move(written));
      moved += piece.size;
    }
    return error;
  }

  const Region region_;
  Device& source_;
  const cl_mem from_;
  const cl_mem to_;
  NativeEvents waits_;
  InPlace source_place_, place_;
  std::unique_ptr<StagingRing> ring_;  // while it moves bytes
  Native<cl_event> last_;
};

}  // namespace

cl_int DeviceTransferCommand::issue(Issue& issue) {
  cl_mem from = nullptr, to = nullptr;
  cl_int error = region.native(*source, from);
  if (error == CL_SUCCESS) error = region.native(issue.queue.device(), to);
  if (error != CL_SUCCESS) return error;
  issue.enqueued = false;
  auto transfer = make_ref<DeviceTransfer>(*this, issue, from, to);
  transfer->find_places();
  transfers->move(std::move(transfer),
                  [](Transfer& transfer, StagingPool& rings) { static_cast<DeviceTransfer&>(transfer).move(rings); });
  return CL_SUCCESS;
}

}  // namespace remotecl::server
