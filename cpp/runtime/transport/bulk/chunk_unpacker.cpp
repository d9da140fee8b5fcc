#include "runtime/transport/bulk/chunk_unpacker.h"

#include <algorithm>

namespace remotecl {

bool ChunkUnpacker::begin(BulkHeader& header) {
  if (header.status < 0 || (header.status & kPackedChunk) == 0) return true;
  header.status &= ~kPackedChunk;
  if (header.size == 0 || header.size > kPackedChunkMax || (header.status != 0 && header.status != kPushedChunk)) {
    violation_ = "a compressed chunk of " + std::to_string(header.size) + " bytes and status " +
                 std::to_string(header.status) + ", which there cannot be";
    return false;
  }
  size_ = header.size;
  delivered_ = received_ = packed_size_ = 0;
  is_open_ = false;
  return true;
}

// Receives the rest of the compressed chunk. Returns 1 once all of it is there.
std::ptrdiff_t ChunkUnpacker::receive(Connection& connection, Wait wait) {
  while (received_ < kPackedSizeSize + packed_size_ || received_ < kPackedSizeSize) {
    const MutableBytes to = received_ < kPackedSizeSize
                                ? MutableBytes(frame_).subspan(received_)
                                : MutableBytes(packed_).first(packed_size_).subspan(received_ - kPackedSizeSize);
    const std::ptrdiff_t count =
        wait == Wait::kNot ? connection.try_read_some(to) : static_cast<std::ptrdiff_t>(connection.read_some(to));
    if (count <= 0) return count;
    received_ += static_cast<std::size_t>(count);
    if (received_ != kPackedSizeSize || packed_size_ != 0) continue;
    packed_size_ = decode_frame<PackedSize>(frame_).size;
    if (packed_size_ == 0 || packed_size_ >= size_) {
      violation_ =
          "a chunk of " + std::to_string(size_) + " bytes that is compressed to " + std::to_string(packed_size_);
      return 0;
    }
    packed_.resize(std::max<std::size_t>(packed_.size(), packed_size_));
  }
  return 1;
}

// Decompresses the chunk, straight into `to` if all of it fits there.
std::ptrdiff_t ChunkUnpacker::open(MutableBytes to) {
  const bool fits = to.size() >= size_;
  if (!fits) bytes_.resize(std::max<std::size_t>(bytes_.size(), size_));
  const MutableBytes target = (fits ? to : MutableBytes(bytes_)).first(size_);
  if (!decompressor_.decompress(Bytes(packed_).first(packed_size_), target)) {
    violation_ = "a compressed chunk that does not have the " + std::to_string(size_) + " bytes that it names";
    return 0;
  }
  before_.fetch_add(size_, std::memory_order_relaxed);
  after_.fetch_add(packed_size_, std::memory_order_relaxed);
  is_open_ = true;
  if (fits) delivered_ = size_;
  return fits ? static_cast<std::ptrdiff_t>(size_) : -1;
}

std::ptrdiff_t ChunkUnpacker::read(Connection& connection, MutableBytes to, Wait wait) {
  std::ptrdiff_t count = -1;
  if (!is_open_) {
    const std::ptrdiff_t there = receive(connection, wait);
    if (there <= 0) return there;
    count = open(to);
    if (count == 0) return 0;
  }
  if (count < 0) {
    const auto size = std::min<std::size_t>(to.size(), size_ - delivered_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(delivered_), size, to.begin());
    delivered_ += size;
    count = static_cast<std::ptrdiff_t>(size);
  }
  if (delivered_ == size_) {
    size_ = 0;
    is_end_due_ = true;
    finish(connection, Wait::kNot);  // it has mostly arrived; if not, the next header waits for it
  }
  return count;
}

std::ptrdiff_t ChunkUnpacker::finish(Connection& connection, Wait wait) {
  if (!is_end_due_) return 1;
  std::array<std::byte, 1> end{};
  const std::ptrdiff_t count =
      wait == Wait::kNot ? connection.try_read_some(end) : static_cast<std::ptrdiff_t>(connection.read_some(end));
  if (count > 0) is_end_due_ = false;
  return count;
}

}  // namespace remotecl
