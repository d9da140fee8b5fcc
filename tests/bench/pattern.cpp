#include "pattern.h"

#include <algorithm>
#include <cstring>

namespace remotecl::bench {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

Pattern::Pattern(size_t size) : bytes_(size) {
  uint32_t state = 0x9e3779b9u;
  for (uint8_t& byte : bytes_) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  restamp();
}

void Pattern::restamp() {
  for (size_t at = 0; at < bytes_.size(); at += kPage) {
    ++stamp_;
    std::memcpy(bytes_.data() + at, &stamp_, std::min(sizeof stamp_, bytes_.size() - at));
  }
}

void Pattern::expect_equal(const std::vector<uint8_t>& received, const std::string& what) const {
  if (received.size() != bytes_.size()) throw DataError(what + ": wrong size");
  if (std::memcmp(received.data(), bytes_.data(), bytes_.size()) == 0) return;
  const auto wrong = std::mismatch(bytes_.begin(), bytes_.end(), received.begin());
  throw DataError(what + ": wrong data from byte " + std::to_string(wrong.first - bytes_.begin()) + " of " +
                  std::to_string(bytes_.size()));
}

void Pattern::spoil(std::vector<uint8_t>& received) const {
  for (size_t at = 0; at < bytes_.size(); at += kPage) received[at] = static_cast<uint8_t>(~bytes_[at]);
}

}  // namespace remotecl::bench
