#include "server/wire/rate_limit.h"

#include <algorithm>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/protocol/sizes.h"

namespace remotecl::server {
namespace {

class RateLimitedConnection final : public Connection {
 public:
  RateLimitedConnection(std::shared_ptr<Connection> connection, std::vector<Ref<RateLimit>> rate_limits)
      : connection_(std::move(connection)), rate_limits_(std::move(rate_limits)) {
    bytes_sent_ = connection_->bytes_sent();
    bytes_received_ = connection_->bytes_received();
  }

  std::size_t read_some(MutableBytes to) override {
    if (!wait()) return 0;
    return received(connection_->read_some(to.first(std::min(to.size(), kRateLimitedPiece))));
  }
  std::ptrdiff_t try_read_some(MutableBytes to) override {
    if (debt() > TokenBucket::Duration::zero()) return -1;
    const std::ptrdiff_t count = connection_->try_read_some(to.first(std::min(to.size(), kRateLimitedPiece)));
    if (count > 0) received(static_cast<std::size_t>(count));
    return count;
  }
  void await_briefly() override { connection_->await_briefly(); }

  bool write(iovec* parts, int count) override {
    for (int i = 0; i < count; ++i) {
      auto* at = static_cast<std::byte*>(parts[i].iov_base);
      for (std::size_t left = parts[i].iov_len; left != 0;) {
        const std::size_t size = std::min(left, kRateLimitedPiece);
        if (!wait() || !connection_->Connection::write(Bytes(at, size))) return false;
        sent(size);
        at += size;
        left -= size;
      }
    }
    return true;
  }
  std::ptrdiff_t try_write(Bytes from) override {
    const std::ptrdiff_t count = connection_->try_write(from);
    if (count > 0) sent(static_cast<std::size_t>(count));
    return count;
  }
  int wait_handle() const override { return connection_->wait_handle(); }
  void set_read_timeout(std::chrono::milliseconds timeout) override { connection_->set_read_timeout(timeout); }
  std::size_t streams() const override { return connection_->streams(); }
  double paced_rate() const override { return connection_->paced_rate(); }
  bool vanished() const override { return connection_->vanished(); }
  void shutdown() override {
    connection_->shutdown();
    MutexLock lock(mutex_);
    is_shut_ = true;
    shut_.notify_all();
  }

 private:
  TokenBucket::Duration debt() const {
    auto longest = TokenBucket::Duration::zero();
    for (const auto& rate_limit : rate_limits_) longest = std::max(longest, rate_limit->debt());
    return longest;
  }
  // Returns false if the connection is shut down while waiting.
  bool wait() EXCLUDES(mutex_) {
    for (;;) {
      const auto left = debt();
      if (left <= TokenBucket::Duration::zero()) return true;
      MutexLock lock(mutex_);
      if (!is_shut_) shut_.wait_for(mutex_, left);
      if (is_shut_) return false;
    }
  }
  std::size_t received(std::size_t count) {
    for (const auto& rate_limit : rate_limits_) rate_limit->take(count);
    bytes_received_.fetch_add(count, std::memory_order_relaxed);
    return count;
  }
  void sent(std::size_t count) {
    for (const auto& rate_limit : rate_limits_) rate_limit->take(count);
    bytes_sent_.fetch_add(count, std::memory_order_relaxed);
  }

  const std::shared_ptr<Connection> connection_;
  const std::vector<Ref<RateLimit>> rate_limits_;
  Mutex mutex_;
  ConditionVariable shut_;
  bool is_shut_ GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Connection> limit_rate(std::unique_ptr<Connection> connection,
                                       std::vector<Ref<RateLimit>> rate_limits) {
  if (rate_limits.empty()) return connection;
  return std::make_unique<RateLimitedConnection>(std::move(connection), std::move(rate_limits));
}

std::shared_ptr<Connection> limit_rate(std::shared_ptr<Connection> connection,
                                       std::vector<Ref<RateLimit>> rate_limits) {
  if (rate_limits.empty()) return connection;
  return std::make_shared<RateLimitedConnection>(std::move(connection), std::move(rate_limits));
}

}  // namespace remotecl::server
