#include "extras/rdma/rdma_bulk_transport.h"

#include "extras/rdma/rdma_registration.h"

namespace remotecl {

std::unique_ptr<MemoryRegistration> RdmaBulkTransport::register_memory(MutableBytes memory) {
  if (memory.empty()) return nullptr;
  return std::make_unique<RdmaRegistration>(memory);
}

std::unique_ptr<MemoryRegistration> RdmaBulkTransport::register_staging(MutableBytes memory) {
  return std::make_unique<RdmaRegistration>(memory, slot_);
}

bool RdmaBulkTransport::announce(std::uint64_t transfer, const BulkDestination& to) {
  const std::shared_ptr<RdmaChannel> channel = slot_->get().channel;
  return channel != nullptr && channel->announce(transfer, {to.bytes, RdmaRegistration::of(to.registration, channel)});
}

void RdmaBulkTransport::withdraw(std::uint64_t transfer) {
  if (const std::shared_ptr<RdmaChannel> channel = slot_->get().channel) channel->withdraw(transfer);
}

void RdmaBulkTransport::shutdown() {
  stream_->shutdown();
  slot_->end();
}

}  // namespace remotecl
