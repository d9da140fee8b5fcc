#include "runtime/transport/bulk/stream_bulk_transport.h"

#include <algorithm>
#include <utility>

namespace remotecl {

bool StreamBulkTransport::send(const BulkHeader& header, const BulkSource& bytes, Use use) {
  const auto encoded = encode_frame<BulkHeader, kBulkHeaderSize>(header);
  if (bytes.bytes.empty()) return connection_->write(encoded);
  return use == Use::kBorrowed ? connection_->write_borrowed(encoded, bytes.bytes)
                               : connection_->write(encoded, bytes.bytes);
}

bool StreamBulkTransport::receive_header(BulkHeader& header) {
  if (!connection_->read_exactly(MutableBytes(header_).subspan(std::exchange(header_have_, 0)))) return false;
  header = decode_frame<BulkHeader>(header_);
  return true;
}

std::ptrdiff_t StreamBulkTransport::try_receive_header(BulkHeader& header) {
  while (header_have_ < kBulkHeaderSize) {
    const std::ptrdiff_t count = connection_->try_read_some(MutableBytes(header_).subspan(header_have_));
    if (count <= 0) return count;
    header_have_ += static_cast<std::size_t>(count);
  }
  header_have_ = 0;
  header = decode_frame<BulkHeader>(header_);
  return kBulkHeaderSize;
}

std::ptrdiff_t StreamBulkTransport::try_discard(std::size_t size) {
  std::array<std::byte, 4096> unwanted;
  return connection_->try_read_some(MutableBytes(unwanted).first(std::min(size, unwanted.size())));
}

}  // namespace remotecl
