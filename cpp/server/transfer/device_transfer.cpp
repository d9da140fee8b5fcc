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
        to_(to) {
    clRetainMemObject(from);
    clRetainMemObject(to);
    for (const cl_event wait : issue.waits) {
      clRetainEvent(wait);
      waits_.push_back(wait);
    }
  }
  ~DeviceTransfer() override {
    for (const cl_event wait : waits_) clReleaseEvent(wait);
    if (last_ != nullptr) clReleaseEvent(last_);
    clReleaseMemObject(from_);
    clReleaseMemObject(to_);
  }

  // With a ring of the source's, and the queue that it has to read from that.
  void move(StagingPool& rings) {
    ring_ = rings.take(source_);
    const cl_int error = move_all();
    rings.give_back(source_, std::move(ring_));
    if (error == CL_SUCCESS) return;
    set_error(error);
    if (last_ != nullptr) clWaitForEvents(1, &last_);  // commands that overwrite what it has brought may come next
  }

  cl_int finish(cl_event* native) override {
    *native = last_;
    return clRetainEvent(last_);
  }

 private:
  cl_int move_all() {
    if (!region_.is_range()) return move_packed();
    if (source_.maps_in_place()) return move_from_mapped();
    if (queue().device().maps_in_place()) return move_into_mapped();
    return move_in_pieces();
  }
  cl_uint wait_count() const { return static_cast<cl_uint>(waits_.size()); }
  const cl_event* waits() const { return waits_.empty() ? nullptr : waits_.data(); }
  cl_command_queue reader() { return ring_->queue(); }
  // Takes over the newest native command's event.
  void went(cl_event event) {
    if (last_ != nullptr) clReleaseEvent(last_);
    last_ = event;
    if (first() != nullptr) return;
    clRetainEvent(event);
    set_first(event);
  }

  cl_int move_packed() {
    const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size()]);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    cl_event read = nullptr;
    cl_int error = region_.read_from(from_, reader(), bytes.get(), 0, nullptr, &read);
    if (error != CL_SUCCESS) return error;
    error = clWaitForEvents(1, &read);
    clReleaseEvent(read);
    cl_event written = nullptr;
    if (error == CL_SUCCESS) {
      error = region_.write_to(to_, queue().native(), bytes.get(), wait_count(), waits(), &written);
    }
    if (error != CL_SUCCESS) return error;
    went(written);
    return clWaitForEvents(1, &written);
  }

  // Waits until the range of `memory` is mapped.
  cl_int map(Mapping& mapping, cl_command_queue queue, cl_mem memory, cl_map_flags flags, cl_uint count,
             const cl_event* list) {
    cl_event mapped = nullptr;
    cl_int error = mapping.map(queue, memory, flags, region_.offset, size(), count, list, &mapped);
    if (error != CL_SUCCESS) return error;
    error = clWaitForEvents(1, &mapped);
    clReleaseEvent(mapped);
    return error;
  }

  cl_int move_from_mapped() {
    Mapping mapping;
    cl_int error = map(mapping, reader(), from_, CL_MAP_READ, 0, nullptr);
    if (error != CL_SUCCESS) return error;
    cl_event written = nullptr;
    error = clEnqueueWriteBuffer(queue().native(), to_, CL_FALSE, region_.offset, size(), mapping.data(), wait_count(),
                                 waits(), &written);
    if (error == CL_SUCCESS) {
      went(written);
      clFlush(queue().native());
      error = clWaitForEvents(1, &written);
    }
    mapping.unmap(nullptr);
    clFinish(reader());
    return error;
  }

  cl_int move_into_mapped() {
    Mapping mapping;
    cl_int error = map(mapping, queue().native(), to_, CL_MAP_WRITE_INVALIDATE_REGION, wait_count(), waits());
    if (error != CL_SUCCESS) return error;
    const cl_int read =
        clEnqueueReadBuffer(reader(), from_, CL_TRUE, region_.offset, size(), mapping.data(), 0, nullptr, nullptr);
    cl_event unmapped = nullptr;
    error = mapping.unmap(&unmapped);
    if (error == CL_SUCCESS) went(unmapped);
    return read != CL_SUCCESS ? read : error;
  }

  // Reads run ahead of writes by as many pieces as there are slots, but one.
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
        const std::uint64_t piece = std::min<std::uint64_t>(size() - asked, StagingRing::kSlotSize);
        cl_int of_another = CL_SUCCESS;  // a transfer before this one on this thread, which tells of it itself
        StagingRing::Slot& slot = ring.next(of_another);
        error = clEnqueueReadBuffer(ring.queue(), from_, CL_FALSE, region_.offset + asked, piece, slot.data, 0, nullptr,
                                    &slot.busy);
        if (error != CL_SUCCESS) break;
        clFlush(ring.queue());
        pieces[newest++ % pieces.size()] = {&slot, asked, piece};
        asked += piece;
      }
      if (newest == oldest) break;
      const Piece& piece = pieces[oldest++ % pieces.size()];
      const cl_int read = clWaitForEvents(1, &piece.slot->busy);
      clReleaseEvent(std::exchange(piece.slot->busy, nullptr));
      if (error == CL_SUCCESS) error = read;
      if (error != CL_SUCCESS) break;
      cl_event written = nullptr;
      error = clEnqueueWriteBuffer(queue().native(), to_, CL_FALSE, region_.offset + piece.offset, piece.size,
                                   piece.slot->data, wait_count(), waits(), &written);
      if (error != CL_SUCCESS) break;
      clFlush(queue().native());
      clRetainEvent(written);
      piece.slot->busy = written;
      // In an out-of-order queue the pieces are one another's wait list, so that the last one ends last.
      for (const cl_event wait : waits_) clReleaseEvent(wait);
      clRetainEvent(written);
      waits_.assign(1, written);
      went(written);
      moved += piece.size;
    }
    return error;
  }

  const Region region_;
  Device& source_;
  const cl_mem from_;
  const cl_mem to_;
  std::vector<cl_event> waits_;
  std::unique_ptr<StagingRing> ring_;  // while it moves
  cl_event last_ = nullptr;
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
