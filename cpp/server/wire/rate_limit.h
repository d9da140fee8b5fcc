#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/sharing/token_bucket.h"
#include "runtime/transport/connection.h"
#include "server/quota/allowance.h"

namespace remotecl::server {

// Limits the bytes per second of all connections that share it, those of a session or of a user. Any thread.
class RateLimit final : public RefCounted {
 public:
  // `allowance`: in the process of a session, the user's limit with that index, which the daemon divides between
  // processes; else null.
  explicit RateLimit(std::uint64_t bytes_per_second, Ref<Allowance> allowance = nullptr, std::size_t index = 0)
      : bucket_(bytes_per_second),
        allowance_(std::move(allowance)),
        index_(index),
        block_(bytes_per_second / kBlocksPerSecond + 1) {}

  void take(std::uint64_t bytes) {
    if (allowance_) return allowance_->sent(index_, bytes);
    const auto now = std::chrono::steady_clock::now();
    std::uint64_t before = paid_until_.load(std::memory_order_relaxed);
    while (!paid_until_.compare_exchange_weak(before, count(bucket_.paid_until(time(before), bytes, now)),
                                              std::memory_order_relaxed)) {
    }
  }
  TokenBucket::Duration debt() const {
    if (allowance_) return allowance_->debt(index_, block_);
    const auto left = time(paid_until_.load(std::memory_order_relaxed)) - std::chrono::steady_clock::now();
    return std::max(left, TokenBucket::Duration::zero());
  }

 private:
  static constexpr std::uint64_t kBlocksPerSecond = 20;  // a block is as long as a TokenBucket's burst

  static TokenBucket::Time time(std::uint64_t count) {
    return TokenBucket::Time(TokenBucket::Duration(static_cast<TokenBucket::Duration::rep>(count)));
  }
  static std::uint64_t count(TokenBucket::Time time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  }

  const TokenBucket bucket_;
  std::atomic<std::uint64_t> paid_until_{0};
  const Ref<Allowance> allowance_;
  const std::size_t index_;
  const std::uint64_t block_;
};

// Wraps the connection so that it is no faster than any of these limits; returns it unchanged if there are
// none. Only the thread that reads or writes is delayed. A try_write() is never delayed; what comes after it
// pays for it.
std::unique_ptr<Connection> limit_rate(std::unique_ptr<Connection> connection, std::vector<Ref<RateLimit>> rate_limits);
std::shared_ptr<Connection> limit_rate(std::shared_ptr<Connection> connection, std::vector<Ref<RateLimit>> rate_limits);

}  // namespace remotecl::server
