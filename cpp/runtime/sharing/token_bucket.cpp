#include "runtime/sharing/token_bucket.h"

#include <algorithm>

namespace remotecl {

TokenBucket::TokenBucket(std::uint64_t rate) : seconds_per_byte_(1.0 / static_cast<double>(rate)) {}

void TokenBucket::take(std::uint64_t bytes, Time now) {
  const std::chrono::duration<double> cost(static_cast<double>(bytes) * seconds_per_byte_);
  paid_until_ = std::max(paid_until_, now - kBurst) + std::chrono::duration_cast<Duration>(cost);
}

}  // namespace remotecl
