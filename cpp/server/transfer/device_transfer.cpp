#include "server/transfer/device_transfer.h"

#include <algorithm>
#include <array>
#include <memory>

#include "server/driver/mapping.h"

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
    if (source_.memory().maps_in_place()) return move_from_mapped();
    if (queue().device().memory().maps_in_place()) return move_into_mapped();
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

  // Waits until the range of `memory` is mapped.
  cl_int map(Mapping& mapping, Device& device, cl_command_queue queue, cl_mem memory, cl_map_flags flags, cl_uint count,
             const cl_event* list) {
    Native<cl_event> mapped;
    const cl_int error = mapping.map(device.memory().mappings(), queue, memory, flags, region_.offset, size(), count,
                                     list, mapped.out());
    return error != CL_SUCCESS ? error : clWaitForEvents(1, mapped.list());
  }

  cl_int move_from_mapped() {
    Mapping mapping;
    cl_int error = map(mapping, source_, reader(), from_, CL_MAP_READ, 0, nullptr);
    if (error != CL_SUCCESS) return error;
    Native<cl_event> written;
    error = clEnqueueWriteBuffer(queue().native(), to_, CL_FALSE, region_.offset, size(), mapping.data(),
                                 waits_.count(), waits_.list(), written.out());
    if (error == CL_SUCCESS) {
      went(std::move(written));
      clFlush(queue().native());
      error = clWaitForEvents(1, last_.list());
    }
    mapping.unmap(nullptr);
    clFinish(reader());
    return error;
  }

  cl_int move_into_mapped() {
    Mapping mapping;
    cl_int error = map(mapping, queue().device(), queue().native(), to_, CL_MAP_WRITE_INVALIDATE_REGION, waits_.count(),
                       waits_.list());
    if (error != CL_SUCCESS) return error;
    const cl_int read =
        clEnqueueReadBuffer(reader(), from_, CL_TRUE, region_.offset, size(), mapping.data(), 0, nullptr, nullptr);
    Native<cl_event> unmapped;
    error = mapping.unmap(unmapped.out());
    if (error == CL_SUCCESS) went(std::move(unmapped));
    return read != CL_SUCCESS ? read : error;
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
  transfers->move(make_ref<DeviceTransfer>(*this, issue, from, to),
                  [](Transfer& transfer, StagingPool& rings) { static_cast<DeviceTransfer&>(transfer).move(rings); });
  return CL_SUCCESS;
}

}  // namespace remotecl::server
