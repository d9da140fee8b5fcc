#pragma once

#include <array>
#include <cstddef>

namespace remotecl {

// A first-in, first-out queue of fixed capacity. A value.
template <class T, std::size_t kSize>
class FixedQueue {
 public:
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kSize; }
  const T& front() const { return values_[first_]; }
  void push(const T& value) { values_[(first_ + size_++) % kSize] = value; }
  void pop() {
    first_ = (first_ + 1) % kSize;
    --size_;
  }

 private:
  std::array<T, kSize> values_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace remotecl
