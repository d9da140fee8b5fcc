#include "runtime/sharing/token_bucket.h"

#include <algorithm>

namespace remotecl {

TokenBucket::TokenBucket(std::uint64_t rate) : seconds_per_byte_(1.0 / static_cast<double>(rate)) {}

TokenBucket::Time TokenBucket::paid_until(Time before, std::uint64_t bytes, Time now) const {
  const std::chrono::duration<double> cost(static_cast<double>(bytes) * seconds_per_byte_);
  return std::max(before, now - kBurst) + std::chrono::duration_cast<Duration>(cost);
}

}  // namespace remotecl
