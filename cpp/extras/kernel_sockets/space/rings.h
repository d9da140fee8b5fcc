#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remotecl::server {

// A word in memory that a kernel may write anything to at any time: it is read once, and what was read is checked.
inline std::uint32_t load_shared(std::byte* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).load(std::memory_order_acquire);
}
inline void store_shared(std::byte* word, std::uint32_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(value, std::memory_order_release);
}

// The bytes of a ring. Positions count bytes and wrap at 2^32; the size is a power of two.
class RingBytes {
 public:
  RingBytes() = default;
  RingBytes(std::byte* data, std::uint32_t size) : data_(data), size_(size) {}

  std::uint32_t size() const { return size_; }
  // The one or two pieces of these bytes. REQUIRES: count <= size().
  int pieces(std::uint32_t position, std::uint32_t count, iovec (&pieces)[2]) const {
    const std::uint32_t begin = position & (size_ - 1);
    const std::uint32_t first = std::min(count, size_ - begin);
    pieces[0] = {data_ + begin, first};
    pieces[1] = {data_, count - first};
    return count == first ? 1 : 2;
  }
  void copy_out(std::uint32_t position, void* to, std::uint32_t count) const {
    iovec from[2];
    pieces(position, count, from);
    std::memcpy(to, from[0].iov_base, from[0].iov_len);
    std::memcpy(static_cast<std::byte*>(to) + from[0].iov_len, from[1].iov_base, from[1].iov_len);
  }
  void copy_in(std::uint32_t position, const void* from, std::uint32_t count) const {
    iovec to[2];
    pieces(position, count, to);
    std::memcpy(to[0].iov_base, from, to[0].iov_len);
    std::memcpy(to[1].iov_base, static_cast<const std::byte*>(from) + to[0].iov_len, to[1].iov_len);
  }

 private:
  std::byte* data_ = nullptr;
  std::uint32_t size_ = 0;
};

// The host's end of a ring that kernels fill. The host's position is not in shared memory.
class SendRing {
 public:
  SendRing() = default;
  explicit SendRing(RingBytes bytes) : bytes_(bytes) {}

  // Takes over the kernel's position. Returns false if it cannot be one.
  bool look(std::uint32_t tail) {
    if (tail - head_ > bytes_.size() || tail - head_ < filled()) return false;
    tail_ = tail;
    return true;
  }
  std::uint32_t filled() const { return tail_ - head_; }
  std::uint32_t head() const { return head_; }
  int pieces(iovec (&pieces)[2]) const { return bytes_.pieces(head_, filled(), pieces); }
  const RingBytes& bytes() const { return bytes_; }
  // REQUIRES: count <= filled().
  void take(std::uint32_t count) { head_ += count; }
  void clear() { head_ = tail_; }

 private:
  RingBytes bytes_;
  std::uint32_t head_ = 0, tail_ = 0;
};

// The host's end of a ring that kernels empty.
class ReceiveRing {
 public:
  ReceiveRing() = default;
  explicit ReceiveRing(RingBytes bytes) : bytes_(bytes) {}

  bool look(std::uint32_t head) {
    if (tail_ - head > tail_ - head_) return false;
    head_ = head;
    return true;
  }
  std::uint32_t room() const { return bytes_.size() - (tail_ - head_); }
  std::uint32_t tail() const { return tail_; }
  // Of the next `count` bytes. REQUIRES: count <= room().
  int pieces(iovec (&pieces)[2], std::uint32_t count) const { return bytes_.pieces(tail_, count, pieces); }
  const RingBytes& bytes() const { return bytes_; }
  // REQUIRES: count <= room().
  void put(std::uint32_t count) { tail_ += count; }

 private:
  RingBytes bytes_;
  std::uint32_t head_ = 0, tail_ = 0;
};

}  // namespace remotecl::server
