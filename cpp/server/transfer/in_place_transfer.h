#pragma once

#include <cstring>
#include <memory>

#include "server/memory/region.h"
#include "server/transfer/transfer.h"

// Bulk bytes that are received into and sent from a buffer's memory directly.
namespace remotecl::server {

// The bytes of a range in this process, if kernels use them there. The driver need not map them: where several mappings
// have one pointer, drivers mistake one for the other.
class InPlace {
 public:
  // Returns false if only the driver knows where the bytes are.
  bool find(const Region& region, Device& device) REQUIRES(session_lock) {
    if (!region.is_range() || region.buffer->native(device, native_) != CL_SUCCESS) return false;
    std::byte* const whole = region.buffer->host_memory(device);
    buffer_ = region.buffer;
    offset_ = region.offset;
    memory = whole == nullptr ? nullptr : whole + offset_;
    return memory != nullptr;
  }

  // A command of the driver that has the place and the times of one that uses the bytes: the bytes may be used once
  // `event` has ended. It reads a byte, because a marker without a wait list would also wait for commands that nothing
  // in a queue out of order has to wait for. Keep this object until then.
  cl_int take_turn(cl_command_queue queue, cl_uint wait_count, const cl_event* waits, cl_event* event) {
    return clEnqueueReadBuffer(queue, native_, CL_FALSE, offset_, sizeof read_, &read_, wait_count, waits, event);
  }
  // The bytes have moved. Leaves `native` null unless the driver's times of the end are wanted.
  cl_int finish(const Transfer& transfer, Native<cl_event>& native) {
    const bool needs_times = transfer.event() != nullptr && transfer.event()->profiled && transfer.first();
    return needs_times ? take_turn(transfer.queue().native(), 1, transfer.first().list(), native.out()) : CL_SUCCESS;
  }

  std::byte* memory = nullptr;

 private:
  Ref<Buffer> buffer_;  // keeps the memory
  cl_mem native_ = nullptr;
  std::uint64_t offset_ = 0;
  std::byte read_{};
};

class InPlaceWrite final : public IncomingTransfer {
 public:
  using IncomingTransfer::IncomingTransfer;
  InPlace place;

  void announce_to(BulkTransport& transport) override { transport.announce(id(), whole(transport)); }
  bool receive(BulkInput& input, std::uint32_t size, StagingSet&) override {
    return input.receive(whole(input).part(this->size() - left(), size));
  }
  cl_int finish(Native<cl_event>& native) override { return place.finish(*this, native); }
  // The bytes stay in place.
  const std::byte* host_memory() const override { return place.memory; }

 private:
  BulkDestination whole(BulkInput& input) { return registered(input, {place.memory, size()}); }
  void put(std::shared_ptr<std::byte[]> bytes) override { std::memcpy(place.memory, bytes.get(), size()); }
};

class InPlaceRead final : public OutgoingTransfer {
 public:
  using OutgoingTransfer::OutgoingTransfer;
  InPlace place;

  bool send(BulkTransport& transport, StagingSet&, const Between& between) override {
    return send_chunks(transport, registered(transport, {place.memory, size()}), between);
  }
  cl_int finish(Native<cl_event>& native) override { return place.finish(*this, native); }
};

}  // namespace remotecl::server
