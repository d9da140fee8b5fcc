#include "server/transfer/transfer.h"

#include <algorithm>

#include "runtime/protocol/frames.h"

namespace remotecl::server {

bool send_chunks(Connection& connection, TransferId id, Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), kBulkChunkMax);
    const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({id, static_cast<std::uint32_t>(size), 0});
    if (!connection.write_lent(header, bytes.first(size))) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace remotecl::server
