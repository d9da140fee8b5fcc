#pragma once

#include <algorithm>
#include <bit>

#include "runtime/base/bytes.h"
#include "runtime/protocol/frames.h"

namespace remotecl {

// Splits a byte stream into control messages. It allocates for the bytes that have actually arrived, not for
// the length that a header claims. One owner, one thread at a time.
class MessageBuffer {
 public:
  enum class Next { kMessage, kNeedMore, kBroken };

  // Returns where to put received bytes; commit() says how many there are. Invalidates messages returned by
  // next().
  MutableBytes space() {
    if (begin_ != 0) {
      buffer_.consume(begin_);
      begin_ = 0;
    }
    buffer_.shrink(kHeldPayloadMax);
    const std::size_t wanted = buffer_.size() < kReadSize ? kReadSize : buffer_.size();
    return {buffer_.reserve(wanted), wanted};
  }
  void commit(std::size_t count) { buffer_.commit(count); }

  // How much extra memory the next space() takes for a message longer than usual.
  std::size_t next_excess() const {
    const std::size_t left = buffer_.size() - begin_;
    // The capacity grows in powers of two.
    const std::size_t size = std::max(buffer_.capacity(), std::bit_ceil(left + std::max(left, kReadSize)));
    if (left == 0) return 0;
    return size > kHeldPayloadMax ? size : 0;
  }

  // Returns the next complete message, as a view into the buffer that is valid until space(). kBroken means
  // that the length is out of bounds.
  Next next(std::uint16_t& code, Bytes& payload, std::uint16_t* flags = nullptr) {
    const std::size_t available = buffer_.size() - begin_;
    if (available < kMessageHeaderSize) return Next::kNeedMore;
    const std::byte* at = buffer_.data() + begin_;
    const auto header = decode_frame<MessageHeader>({at, kMessageHeaderSize});
    if (header.size > kMessageSizeMax) return Next::kBroken;
    if (available - kMessageHeaderSize < header.size) return Next::kNeedMore;
    code = header.code;
    if (flags != nullptr) *flags = header.flags;
    payload = {at + kMessageHeaderSize, header.size};
    begin_ += kMessageHeaderSize + header.size;
    return Next::kMessage;
  }
  // Bytes that next() has not returned.
  std::size_t pending() const { return buffer_.size() - begin_; }

 private:
  static constexpr std::size_t kReadSize = 128u << 10;
  static constexpr std::size_t kHeldPayloadMax = 1u << 20;

  ByteBuffer buffer_;
  std::size_t begin_ = 0;
};

}  // namespace remotecl
