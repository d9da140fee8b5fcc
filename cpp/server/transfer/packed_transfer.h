#pragma once

#include <memory>

#include "server/memory/region.h"
#include "server/transfer/transfer.h"

// Bulk bytes of rectangles and pixels, packed in host memory.
namespace remotecl::server {

using PackedBytes = std::unique_ptr<std::byte[]>;

class PackedWrite final : public IncomingTransfer {
 public:
  PackedWrite(TransferId id, Queue& queue, Event* event, EventId hold, Region region, PackedBytes bytes)
      : IncomingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), bytes_(std::move(bytes)) {}

  void announce_to(BulkTransport& transport) override { transport.announce(id(), whole(transport)); }
  bool receive(BulkInput& input, std::uint32_t size, StagingSet&) override {
    return input.receive(whole(input).part(this->size() - left(), size));
  }
  cl_int finish(Native<cl_event>& native) override REQUIRES(session_lock) {
    return region_.write(queue().device(), queue().native(), bytes_.get(), 0, nullptr, native.out());
  }
  const std::byte* host_memory() const override { return bytes_.get(); }

 private:
  BulkDestination whole(BulkInput& input) { return registered(input, {bytes_.get(), size()}); }
  void put(std::shared_ptr<std::byte[]> bytes) override { std::memcpy(bytes_.get(), bytes.get(), size()); }

  const Region region_;
  const PackedBytes bytes_;
};

class PackedRead final : public OutgoingTransfer {
 public:
  PackedRead(TransferId id, Queue& queue, Event* event, EventId hold, std::uint64_t size, PackedBytes bytes)
      : OutgoingTransfer(id, queue, event, hold, size), bytes_(std::move(bytes)) {}

  std::byte* data() { return bytes_.get(); }
  bool send(BulkTransport& transport, StagingSet&, const Between& between) override {
    return send_chunks(transport, registered(transport, {bytes_.get(), size()}), between);
  }
  cl_int finish(Native<cl_event>& native) override {
    native = first().copy();
    return CL_SUCCESS;
  }

 private:
  const PackedBytes bytes_;
};

}  // namespace remotecl::server
