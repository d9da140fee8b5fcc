#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/protocol/codec.h"

namespace remotecl::fuzz {

// Takes a fuzzer's input apart; zeros come after its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  bool is_over() const { return left_.empty(); }
  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof value, left_.size());
    if (count != 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  Bytes rest() const { return std::as_bytes(left_); }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace remotecl::fuzz
