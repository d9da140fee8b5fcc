#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/quota/counters.h"

namespace remotecl::server {

// The two pages that the daemon and the process of a session share, each written by one of them. The process writes
// its claims: what it uses by each counter of MemoryQuota, and what it has sent under each limit of bandwidth. The
// daemon writes its allowances. A value.
struct SharedLayout {
  static constexpr std::size_t kRates = 2;  // of connections, of kernels' sockets

  std::size_t counters;  // MemoryQuota::counters()

  // Claims.
  std::size_t sent(std::size_t rate) const { return counters + rate; }
  std::size_t claims() const { return counters + kRates; }
  // Allowances, of which the first are by counter.
  std::size_t paid_until(std::size_t rate) const { return counters + rate; }
  std::size_t counted(std::size_t rate) const {
    return counters + kRates + rate;
  }                                                               // as far as the daemon has seen sent()
  std::size_t answered() const { return counters + 2 * kRates; }  // the last claim that was answered
  std::size_t allowances() const { return answered() + 1; }
};

// What a process asks the daemon to look at: that it now uses more by a counter than it is allowed, or, with the index
// of sent(), that it has sent something.
struct ShareClaim {
  std::uint64_t number;  // 0: needs no answer
  std::uint32_t counter;
  bool spares_some;  // as in MemoryQuota::reserve()
};

// What the process of a session may take of its user's limits, which others take from, too. It takes what the daemon
// has allowed without asking. Only for more it asks the daemon and waits. Any thread of the process.
class Allowance final : public RefCounted {
 public:
  // `ask` passes a claim to the daemon; returns false if it cannot now.
  Allowance(std::size_t counters, Ref<Counters> claims, Ref<Counters> allowances,
            std::function<bool(const ShareClaim&)> ask)
      : layout_{counters}, claims_(std::move(claims)), allowances_(std::move(allowances)), ask_(std::move(ask)) {}

  // Where MemoryQuota counts.
  const Ref<Counters>& claims() const { return claims_; }
  std::uint64_t allowed(std::size_t counter) const { return (*allowances_)[counter].load(); }
  // True if the daemon allows what is counted at present.
  bool covers(std::size_t counter) const {
    const std::uint64_t allowed = this->allowed(counter);
    return (*claims_)[counter].load() <= allowed;
  }
  // Counts `size` more if the daemon allows it, which it is asked here. `limit`: of the session.
  bool claim(std::size_t counter, std::uint64_t size, std::uint64_t limit, bool spares_some) EXCLUDES(mutex_);

  // Of a limit of bandwidth: counts bytes; how long to wait before the next ones. `block`: what may be sent before the
  // daemon is told.
  void sent(std::size_t rate, std::uint64_t bytes) { (*claims_)[layout_.sent(rate)].fetch_add(bytes); }
  std::chrono::steady_clock::duration debt(std::size_t rate, std::uint64_t block);

 private:
  // Asks, and waits for the answer, which comes in memory, so no thread of this process has to pass it on.
  void ask_and_wait(std::size_t counter, bool spares_some) REQUIRES(mutex_);

  const SharedLayout layout_;
  const Ref<Counters> claims_, allowances_;
  const std::function<bool(const ShareClaim&)> ask_;
  std::array<std::atomic<std::uint64_t>, SharedLayout::kRates> told_{};  // 1 + counted() when the daemon was last told
  Mutex mutex_;  // one claim at a time, so that a small one does not fail because of a large one
  std::uint64_t number_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
