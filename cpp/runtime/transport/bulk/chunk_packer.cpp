#include "runtime/transport/bulk/chunk_packer.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

iovec part_of(Bytes bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

bool copy_out(const BulkSource& source, MutableBytes to) {
  if (source.owner != nullptr) return source.owner->copy(source.bytes, to);
  std::copy(source.bytes.begin(), source.bytes.end(), to.begin());
  return true;
}

}  // namespace

bool ChunkPacker::send(Connection& connection, const BulkHeader& header, const BulkSource& source,
                       BulkTransport::Use use) {
  const bool is_divisible = header.status == 0 && policy_.is_interested();
  for (std::size_t at = 0; at < source.bytes.size();) {
    const std::size_t left = source.bytes.size() - at, size = is_divisible ? std::min(left, kPiece) : left;
    const BulkHeader piece{header.transfer, static_cast<std::uint32_t>(size), header.status};
    if (!send_piece(connection, piece, source.part(at, size), use)) return false;
    at += size;
  }
  return true;
}

bool ChunkPacker::send_piece(Connection& connection, const BulkHeader& header, const BulkSource& source,
                             BulkTransport::Use use) {
  const Connection::Delivered delivered = connection.delivered();
  policy_.delivered(delivered.bytes, delivered.seconds);
  const bool may_pack = source.bytes.size() <= kPackedChunkMax && !connection.crowded();
  if (!may_pack) return send_plain(connection, header, source, use);
  CompressionPolicy::Step step = policy_.next(source.bytes.size());
  if (step == CompressionPolicy::Step::kSample) {
    take_sample(source);
    step = policy_.next(source.bytes.size());
  }
  if (step == CompressionPolicy::Step::kCompress) {
    const Bytes packed = compress(source);
    if (!packed.empty()) return send_packed(connection, header, packed);
  }
  return send_plain(connection, header, source, use);
}

void ChunkPacker::take_sample(const BulkSource& source) {
  const auto begun = Clock::now();
  const std::size_t size = std::min(source.bytes.size(), BlockCompressor::kSample);
  constexpr std::size_t kParts = 4;
  stable_.resize(size);
  // Samples parts of large bytes, because their beginning may be unlike the rest.
  for (std::size_t part = 0, each = size / kParts; part < kParts; ++part) {
    const std::size_t from = part * (source.bytes.size() - each) / (kParts - 1);
    if (!copy_out(source.part(from, each), MutableBytes(stable_).subspan(part * each, each))) return;
  }
  const Bytes packed = compressor_.compress(stable_);
  policy_.sampled(size, packed.empty() ? size : packed.size(), seconds_since(begun));
}

// Returns nothing if the bytes are better sent as they are.
Bytes ChunkPacker::compress(const BulkSource& source) {
  const auto begun = Clock::now();
  const std::size_t size = source.bytes.size();
  stable_.resize(size);
  if (!copy_out(source, stable_)) return {};
  const Bytes packed = compressor_.compress(stable_);
  if (!policy_.compressed(size, packed.empty() ? size : packed.size(), seconds_since(begun))) return {};
  return packed;
}

bool ChunkPacker::send_packed(Connection& connection, const BulkHeader& header, Bytes packed) {
  const auto encoded =
      encode_frame<BulkHeader, kBulkHeaderSize>({header.transfer, header.size, header.status | kPackedChunk});
  const auto size = encode_frame<PackedSize, kPackedSizeSize>({static_cast<std::uint32_t>(packed.size())});
  constexpr std::array<std::byte, 1> kEnd{};
  std::array<iovec, 4> parts{part_of(encoded), part_of(size), part_of(packed), part_of(kEnd)};
  before_.fetch_add(header.size, std::memory_order_relaxed);
  after_.fetch_add(packed.size(), std::memory_order_relaxed);
  const auto begun = Clock::now();
  const bool ok = connection.write(parts.data(), static_cast<int>(parts.size()));
  policy_.wrote_compressed(seconds_since(begun));
  return ok;
}

bool ChunkPacker::send_plain(Connection& connection, const BulkHeader& header, const BulkSource& source,
                             BulkTransport::Use use) {
  const auto encoded = encode_frame<BulkHeader, kBulkHeaderSize>(header);
  const auto begun = Clock::now();
  const bool ok = use == BulkTransport::Use::kBorrowed ? connection.write_borrowed(encoded, source.bytes)
                                                       : connection.write(encoded, source.bytes);
  policy_.wrote(source.bytes.size(), seconds_since(begun));
  return ok;
}

}  // namespace remotecl
