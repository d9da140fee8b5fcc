#include "runtime/transport/bulk/stream_bulk_transport.h"

#include <algorithm>
#include <utility>

namespace remotecl {

StreamBulkTransport::StreamBulkTransport(std::shared_ptr<Connection> connection, RdmaState rdma,
                                         CompressionMode compression, TransportKind kind)
    : connection_(std::move(connection)),
      rdma_(std::move(rdma)),
      kind_(kind),
      packer_(compression != CompressionMode::kOff ? std::make_unique<ChunkPacker>(compression) : nullptr),
      unpacker_(compression != CompressionMode::kOff ? std::make_unique<ChunkUnpacker>() : nullptr) {}

bool StreamBulkTransport::send(const BulkHeader& header, const BulkSource& bytes, Use use) {
  if (packer_ != nullptr && !bytes.bytes.empty()) return packer_->send(*connection_, header, bytes, use);
  const auto encoded = encode_frame<BulkHeader, kBulkHeaderSize>(header);
  if (bytes.bytes.empty()) return connection_->write(encoded);
  return use == Use::kBorrowed ? connection_->write_borrowed(encoded, bytes.bytes)
                               : connection_->write(encoded, bytes.bytes);
}

std::size_t StreamBulkTransport::chunk_size() const {
  const double rate = connection_->paced_rate();
  if (rate == 0) return kBulkChunkMax;
  return std::clamp<std::size_t>(static_cast<std::size_t>(rate * kChunkSeconds), kChunkMin, kBulkChunkMax);
}

bool StreamBulkTransport::receive_header(BulkHeader& header) {
  if (unpacker_ != nullptr && unpacker_->finish(*connection_, ChunkUnpacker::Wait::kForBytes) <= 0) return false;
  if (!connection_->read_exactly(MutableBytes(header_).subspan(std::exchange(header_have_, 0)))) return false;
  header = decode_frame<BulkHeader>(header_);
  return begin_chunk(header);
}

std::ptrdiff_t StreamBulkTransport::try_receive_header(BulkHeader& header) {
  if (unpacker_ != nullptr) {
    const std::ptrdiff_t count = unpacker_->finish(*connection_, ChunkUnpacker::Wait::kNot);
    if (count <= 0) return count;
  }
  while (header_have_ < kBulkHeaderSize) {
    const std::ptrdiff_t count = connection_->try_read_some(MutableBytes(header_).subspan(header_have_));
    if (count <= 0) return count;
    header_have_ += static_cast<std::size_t>(count);
  }
  header_have_ = 0;
  header = decode_frame<BulkHeader>(header_);
  return begin_chunk(header) ? static_cast<std::ptrdiff_t>(kBulkHeaderSize) : 0;
}

bool StreamBulkTransport::begin_chunk(BulkHeader& header) {
  if (unpacker_ == nullptr || unpacker_->begin(header)) return true;
  connection_->shutdown();
  return false;
}

std::ptrdiff_t StreamBulkTransport::read_packed(MutableBytes to, ChunkUnpacker::Wait wait) {
  const std::ptrdiff_t count = unpacker_->read(*connection_, to, wait);
  if (count == 0) connection_->shutdown();
  return count;
}

bool StreamBulkTransport::receive(const BulkDestination& to) {
  MutableBytes left = to.bytes;
  while (!left.empty() && unpacker_ != nullptr && unpacker_->is_reading()) {
    const std::ptrdiff_t count = read_packed(left, ChunkUnpacker::Wait::kForBytes);
    if (count <= 0) return false;
    left = left.subspan(static_cast<std::size_t>(count));
  }
  return connection_->read_exactly(left);
}

std::ptrdiff_t StreamBulkTransport::try_receive(const BulkDestination& to) {
  if (unpacker_ == nullptr || !unpacker_->is_reading()) return connection_->try_read_ahead(to.bytes);
  return read_packed(to.bytes, ChunkUnpacker::Wait::kNot);
}

std::ptrdiff_t StreamBulkTransport::try_discard(std::size_t size) {
  std::array<std::byte, 4096> unwanted;
  const MutableBytes to = MutableBytes(unwanted).first(std::min(size, unwanted.size()));
  if (unpacker_ == nullptr || !unpacker_->is_reading()) return connection_->try_read_some(to);
  return read_packed(to, ChunkUnpacker::Wait::kNot);
}

CompressionCounts StreamBulkTransport::compression() const {
  if (packer_ == nullptr) return {};
  return {packer_->bytes_before(), packer_->bytes_after(), unpacker_->bytes_before(), unpacker_->bytes_after()};
}

const std::string& StreamBulkTransport::violation() const {
  return unpacker_ != nullptr ? unpacker_->violation() : BulkTransport::violation();
}

}  // namespace remotecl
