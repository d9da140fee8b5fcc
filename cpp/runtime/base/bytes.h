#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace remotecl {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// A growing output buffer that, unlike std::vector, does not zero new bytes first. A value: one owner, one
// thread at a time.
class ByteBuffer {
 public:
  const std::byte* data() const { return data_.get(); }
  std::byte* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  Bytes bytes() const { return {data_.get(), size_}; }

  void clear() { size_ = 0; }

  // Makes room for `count` more bytes and returns their address; commit() or extend() adds them to the
  // buffer.
  std::byte* reserve(std::size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    return data_.get() + size_;
  }
  void commit(std::size_t count) { size_ += count; }
  std::byte* extend(std::size_t count) {
    std::byte* at = reserve(count);
    size_ += count;
    return at;
  }
  void append(const void* from, std::size_t count) {
    if (count != 0) std::memcpy(extend(count), from, count);
  }
  void append(Bytes from) { append(from.data(), from.size()); }

  // Removes the first `count` bytes and moves the rest to the front.
  void consume(std::size_t count) {
    size_ -= count;
    if (size_ != 0) std::memmove(data_.get(), data_.get() + count, size_);
  }

  // Frees memory after an unusually large message.
  void shrink(std::size_t capacity) {
    if (size_ == 0 && capacity_ > capacity) {
      data_.reset();
      capacity_ = 0;
    }
  }

 private:
  void grow(std::size_t needed) {
    std::size_t capacity = capacity_ == 0 ? 4096 : capacity_;
    while (capacity < needed) capacity *= 2;
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace remotecl
