#include "server/transfer/transfer.h"

#include <algorithm>

#include "runtime/protocol/frames.h"

namespace remotecl::server {

bool OutgoingTransfer::send_chunks(BulkTransport& transport, const BulkSource& bytes, const Between& between) {
  for (std::size_t at = 0; at < bytes.bytes.size();) {
    const std::size_t size = std::min(bytes.bytes.size() - at, transport.chunk_size());
    const BulkHeader header{id(), static_cast<std::uint32_t>(size), 0};
    if (!transport.send(header, bytes.part(at, size), BulkTransport::Use::kBorrowed)) return false;
    at += size;
    sent_ += size;
    if (between && sent_ < this->size() && !between(size, this->size() - sent_)) return false;
  }
  return true;
}

}  // namespace remotecl::server
