#pragma once

#include <cstring>
#include <memory>

#include "server/driver/mapping.h"
#include "server/memory/buffer.h"
#include "server/transfer/transfer.h"

// Bulk bytes that are received into and sent from a buffer's memory directly.
namespace remotecl::server {

// A buffer's bytes in this process: either the driver has mapped them, or it need not be asked.
struct InPlace {
  Mapping mapping;
  Ref<Buffer> kept;  // without a mapping: keeps the memory
  std::byte* memory = nullptr;

  void mapped() { memory = mapping.data(); }
  // Leaves `native` null without a mapping.
  cl_int finish(Native<cl_event>& native) {
    return mapping.data() != nullptr ? mapping.unmap(native.out()) : CL_SUCCESS;
  }
};

class InPlaceWrite final : public IncomingTransfer {
 public:
  using IncomingTransfer::IncomingTransfer;
  InPlace place;

  void announce_to(BulkTransport& transport) override { transport.announce(id(), whole(transport)); }
  bool receive(BulkInput& input, std::uint32_t size, StagingSet&) override {
    return input.receive(whole(input).part(this->size() - left(), size));
  }
  cl_int finish(Native<cl_event>& native) override { return place.finish(native); }
  // The bytes stay in place after the unmapping.
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
  cl_int finish(Native<cl_event>& native) override { return place.finish(native); }
};

}  // namespace remotecl::server
