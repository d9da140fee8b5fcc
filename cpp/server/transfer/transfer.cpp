#include "server/transfer/transfer.h"

#include <algorithm>

#include "runtime/protocol/frames.h"

namespace remotecl::server {

bool send_chunks(BulkTransport& transport, TransferId id, const BulkSource& bytes) {
  for (std::size_t at = 0; at < bytes.bytes.size();) {
    const std::size_t size = std::min<std::size_t>(bytes.bytes.size() - at, kBulkChunkMax);
    const BulkHeader header{id, static_cast<std::uint32_t>(size), 0};
    if (!transport.send(header, bytes.part(at, size), BulkTransport::Use::kBorrowed)) return false;
    at += size;
  }
  return true;
}

}  // namespace remotecl::server
