#include "runtime/transport/rdma/rdma_bulk_transport.h"

namespace remotecl {
namespace {

// Registrations that are given to a transport are its own.
const RegisteredMemory* registered(const MemoryRegistration* registration) {
  return static_cast<const RegisteredMemory*>(registration);
}

RdmaDestination destination(const BulkDestination& to) { return {to.bytes, registered(to.registration)}; }

}  // namespace

// Without a registration the bytes are copied through memory of the channel.
std::unique_ptr<MemoryRegistration> RdmaBulkTransport::register_memory(MutableBytes memory) {
  if (memory.empty()) return nullptr;
  return channel_->register_memory(memory);
}

bool RdmaBulkTransport::send(const BulkHeader& header, const BulkSource& bytes, Use use) {
  return channel_->send({header.transfer, header.size, header.status}, {bytes.bytes, registered(bytes.registration)},
                        use == Use::kLent ? RdmaChannel::Use::kLent : RdmaChannel::Use::kCopied);
}

void RdmaBulkTransport::announce(std::uint64_t transfer, const BulkDestination& to) {
  channel_->announce(transfer, destination(to));
}

bool RdmaBulkTransport::receive_header(BulkHeader& header) {
  RdmaChannel::Chunk chunk;
  if (!channel_->receive_header(chunk)) return false;
  header = {chunk.transfer, chunk.size, chunk.status};
  return true;
}

bool RdmaBulkTransport::receive(const BulkDestination& to) { return channel_->receive(destination(to)); }

std::ptrdiff_t RdmaBulkTransport::try_receive_header(BulkHeader& header) {
  RdmaChannel::Chunk chunk;
  const std::ptrdiff_t found = channel_->try_receive_header(chunk);
  if (found > 0) header = {chunk.transfer, chunk.size, chunk.status};
  return found;
}

std::ptrdiff_t RdmaBulkTransport::try_receive(const BulkDestination& to) {
  return channel_->try_receive(destination(to));
}

}  // namespace remotecl
