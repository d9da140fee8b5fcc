#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/sharing/token_bucket.h"
#include "server/quota/allowance.h"
#include "server/quota/memory_quota.h"

namespace remotecl::server {

class SessionShare;

// Divides a user's limits between the user's sessions that have processes of their own. In the daemon; owned by the
// user and its sessions; any thread.
//
// What a process says that it uses counts at most as much as it is allowed, and all that is allowed is at most the
// limit. So no process can take from others more than its session's limits, whatever it writes. Processes take from
// what they are allowed without asking. To allow more to one that asks, what the others do not use is taken back
// without asking them: see settle().
class UserShares final : public RefCounted {
 public:
  explicit UserShares(std::size_t devices) : layout_{MemoryQuota::counters(devices)}, devices_(devices) {}

  // What the processes of the sessions say that they use, each at most its session's limit.
  std::uint64_t used(std::size_t counter) const EXCLUDES(mutex_);

 private:
  friend class SessionShare;

  void enter(SessionShare& share) EXCLUDES(mutex_);
  void leave(SessionShare& share) EXCLUDES(mutex_);
  void claim(SessionShare& share, const ShareClaim& claim) EXCLUDES(mutex_);
  void divide(SessionShare& asker, std::size_t counter, bool spares_some) REQUIRES(mutex_);
  // Allows the session no more than it uses, and returns that.
  std::uint64_t settle(SessionShare& share, std::size_t counter) REQUIRES(mutex_);
  void count_sent(SessionShare& share, std::size_t rate) REQUIRES(mutex_);

  const SharedLayout layout_;
  const std::size_t devices_;
  mutable Mutex mutex_;
  std::set<SessionShare*> shares_ GUARDED_BY(mutex_);
  std::array<TokenBucket::Time, SharedLayout::kRates> paid_until_ GUARDED_BY(mutex_){};
};

// The share of one session, in the daemon, for as long as its process exists: the pages for SharedLayout. Owned by the
// session; any thread.
class SessionShare {
 public:
  // The limits when the session began. `rates`: bytes per second of the user's connections and kernels' sockets; 0: no
  // limit.
  struct Bounds {
    MemoryLimits of_user, of_session;
    std::array<std::uint64_t, SharedLayout::kRates> rates{};
  };

  // Throws std::system_error if there is no memory for the pages.
  SessionShare(Ref<UserShares> user, const Bounds& bounds);
  ~SessionShare() { user_->leave(*this); }
  SessionShare(const SessionShare&) = delete;
  SessionShare& operator=(const SessionShare&) = delete;

  // Descriptors for the process.
  int claims() const { return claims_.descriptor(); }
  int allowances() const { return allowances_.descriptor(); }
  // Answers a claim, in the allowances. Returns false if there is no such counter.
  bool claim(const ShareClaim& claim);

 private:
  friend class UserShares;

  // What the process says that it uses, at most the session's limit.
  std::uint64_t claimed(std::size_t counter) const;
  void allow(std::size_t counter, std::uint64_t size);

  const Ref<UserShares> user_;
  const Bounds bounds_;
  Counters claims_, allowances_;
  // The other fields are guarded by the user's mutex. Copies, because others read the pages.
  std::array<std::uint64_t, SharedLayout::kRates> counted_{};
  std::array<TokenBucket::Time, SharedLayout::kRates> paid_until_{};
};

}  // namespace remotecl::server
