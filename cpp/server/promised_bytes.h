#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace remotecl::server {

// Bytes that commands on their way will add to an outbox, so that no more are asked of it than it can hold. Any thread.
class PromisedBytes {
 public:
  // Counts until the token and its copies are gone.
  using Token = std::shared_ptr<const void>;

  Token add(std::uint64_t size) {
    *total_ += size;
    return {total_.get(), [total = total_, size](const void*) { *total -= size; }};
  }
  std::uint64_t total() const { return *total_; }

 private:
  const std::shared_ptr<std::atomic<std::uint64_t>> total_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

// What may be promised and unwritten before small data takes the road of bulk data, where who receives it sets the
// pace.
inline constexpr std::uint64_t kSmallBytesMax = 32u << 20;

}  // namespace remotecl::server
