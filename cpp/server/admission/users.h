#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/admission/limits.h"
#include "server/driver/native_driver.h"
#include "server/quota/counters.h"
#include "server/quota/memory_quota.h"
#include "server/quota/user_shares.h"
#include "server/wire/rate_limit.h"

namespace remotecl::server {

// A user of the server: everyone who proves a certain token, or all clients without a token of their own.
// Holds the user's usage and limits. Any thread.
class User final : public RefCounted {
 public:
  // `allowance`: in the process of one of the user's sessions; else null.
  User(std::string name, Limits limits, std::size_t devices, Ref<Allowance> allowance = nullptr);
  // The same user with other limits for future sessions; existing sessions keep counting.
  User(const User& former, Limits limits, std::size_t devices);

  // The user without a token of their own, which several people may be.
  static constexpr const char* kEverybody = "default";

  const std::string& name() const { return name_; }
  bool is_one_person() const { return name_ != kEverybody; }
  const Limits& limits() const { return limits_; }
  double weight() const { return limits_.weight.value_or(1); }  // of each of its sessions
  const Ref<MemoryQuota>& memory() const { return memory_; }
  const Ref<Allowance>& allowance() const { return allowance_; }
  const Ref<UserShares>& shares() const { return shares_; }
  // What the user's sessions use by a counter of memory(), in this process and in those of their own.
  std::uint64_t used(std::size_t counter) const { return memory_->used(counter) + shares_->used(counter); }
  const Ref<RateLimit>& rate_limit() const { return rate_limit_; }                // null: unlimited
  const Ref<RateLimit>& kernel_rate_limit() const { return kernel_rate_limit_; }  // likewise; of kernels' sockets
  std::uint64_t sessions() const { return sessions_->load(std::memory_order_relaxed); }

  // Returns false if the user has as many sessions as allowed.
  bool begin_session();
  void end_session() { sessions_->fetch_sub(1, std::memory_order_relaxed); }

 private:
  const std::string name_;
  const Limits limits_;
  const Ref<Counters> counters_;
  const Ref<MemoryQuota> memory_;
  const Ref<Allowance> allowance_;
  const Ref<UserShares> shares_;
  const Ref<RateLimit> rate_limit_;
  const Ref<RateLimit> kernel_rate_limit_;
  const std::shared_ptr<std::atomic<std::uint64_t>> sessions_;
};

// The grant of one session. Counts among its user's sessions until it ends. Owned by the session.
class Grant {
 public:
  // REQUIRES: user->begin_session() returned true.
  Grant(Ref<User> user, const Limits& of_session, const NativeDriver& driver);
  ~Grant() { end(); }
  Grant(const Grant&) = delete;
  Grant& operator=(const Grant&) = delete;

  const User& user() const { return *user_; }
  const Limits& of_session() const { return of_session_; }
  const Ref<MemoryQuota>& memory() const { return memory_; }
  // For the session's process, in the daemon. Throws std::system_error.
  std::unique_ptr<SessionShare> share() const;
  // The limits of its connections' speed.
  const std::vector<Ref<RateLimit>>& rate_limits() const { return rate_limits_; }
  // Likewise, of its kernels' sockets.
  const std::vector<Ref<RateLimit>>& kernel_rate_limits() const { return kernel_rate_limits_; }
  // The most threads of each of its networks.
  std::optional<std::uint64_t> kernel_threads_max() const { return kernel_threads_max_; }
  // The server's devices that it may use.
  std::vector<std::uint32_t> devices() const;
  bool sees(std::uint32_t device) const { return device < devices_.size() && devices_[device]; }
  bool sees_none() const;
  // The most that a program can allocate on a device; UINT64_MAX if only the device limits it.
  std::uint64_t device_memory_max() const { return device_memory_max_; }
  std::optional<std::uint64_t> queued_commands_max() const { return queued_commands_max_; }
  std::optional<std::chrono::seconds> command_time_max() const { return command_time_max_; }
  double weight() const { return user_->weight(); }
  // The encoded DeviceList for this session.
  std::vector<std::byte> device_list(const NativeDriver& driver) const;

  // The session has ended. Called once.
  void end();

 private:
  const Ref<User> user_;
  const Limits of_session_;
  const Ref<MemoryQuota> memory_;
  std::vector<Ref<RateLimit>> rate_limits_, kernel_rate_limits_;
  std::vector<bool> devices_;
  std::uint64_t device_memory_max_ = UINT64_MAX;
  std::optional<std::uint64_t> queued_commands_max_, kernel_threads_max_;
  std::optional<std::chrono::seconds> command_time_max_;
  std::atomic<bool> ended_{false};
};

// All users that the server knows. Constant; any thread.
class Users {
 public:
  // `common`: the token of users without one of their own. With `former`, users of the same name keep their counters.
  // Throws LimitsError.
  Users(std::optional<AccessToken> common, LimitsTable limits, const NativeDriver& driver,
        const Users* former = nullptr);
  // The same users with other limits. Throws LimitsError.
  std::unique_ptr<Users> renewed(LimitsTable limits, const NativeDriver& driver) const;

  // Empty if clients need no token.
  std::span<const AccessToken> tokens() const { return tokens_; }
  // The user whose token has that index; without tokens, the common user.
  const Ref<User>& owner_of(std::size_t token) const { return tokens_.empty() ? everybody_ : owners_[token]; }
  const Limits& of_session() const { return of_session_; }
  // The grant of one of the user's sessions. REQUIRES: user->begin_session() returned true.
  std::unique_ptr<Grant> grant(const Ref<User>& user, const NativeDriver& driver) const;
  // All users that may have sessions.
  std::vector<Ref<User>> all() const;

 private:
  void add(AccessToken token, const Ref<User>& owner);

  Ref<User> make_user(std::string name, Limits limits, std::size_t devices, const Users* former) const;
  Ref<User> named(const std::string& name) const;  // null: unknown

  const std::optional<AccessToken> common_;
  const Limits of_session_;
  const Ref<User> everybody_;
  std::vector<AccessToken> tokens_;
  std::vector<Ref<User>> owners_;  // one for each token
};

}  // namespace remotecl::server
