#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "runtime/base/mutex.h"
#include "server/admission/own_ports.h"
#include "server/admission/peer_rules.h"
#include "server/peer/link_dialer.h"

namespace remotecl::server {

// Connects from this process, as its operator allows. The session may be under an attacker's control: it learns nothing
// about addresses where no server has accepted a link of it, and each attempt is in the log.
class LocalLinkDialer final : public LinkDialer {
 public:
  // A session may make so many attempts in a row, and so many more in each second.
  static constexpr unsigned kAttemptsAtOnce = 512, kAttemptsPerSecond = 32;

  // What all sessions of the daemon have in common. Outlives the dialers.
  struct Daemon {
    const PeerRules& rules;
    const OwnPorts& ports;
    std::uint64_t epoch;
  };
  LocalLinkDialer(const Daemon& daemon, LinkAsker asker) : daemon_(daemon), asker_(std::move(asker)) {}

  Dialed dial(const Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
              const std::stop_token& stop) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Attempt;

  void check(const JoinRequest& request) const;
  Dialed try_address(const Attempt& attempt, const Address& address, std::set<std::string>& tried);
  Dialed try_number(const Attempt& attempt, const Address& number);
  Dialed connect(const Attempt& attempt, const Address& number) const;
  // Empty, or why nothing is to be connected there.
  std::string objection(const Address& number) const;
  // Waits until one more attempt may be made. Throws NotConnected if that is after the deadline.
  void await_turn(const Attempt& attempt, const Address& number) EXCLUDES(mutex_);
  void rest_until(Deadline deadline, const std::stop_token& stop) EXCLUDES(mutex_);
  bool is_known(const Address& number) const EXCLUDES(mutex_);
  void note_known(const Address& number) EXCLUDES(mutex_);
  void log_attempt(const Address& number, const std::string& outcome, bool is_refused = false) const;

  const Daemon daemon_;
  const LinkAsker asker_;
  mutable Mutex mutex_;
  ConditionVariable stopped_;                       // a request to stop has come
  std::set<std::string> known_ GUARDED_BY(mutex_);  // where servers have accepted links
  double attempts_ GUARDED_BY(mutex_) = 0;          // that are not forgotten yet
  Clock::time_point counted_ GUARDED_BY(mutex_){};
};

}  // namespace remotecl::server
