#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/address.h"
#include "server/load_sampler.h"
#include "server/native_driver.h"

namespace remotecl::server {

class Session;

// What the daemon can tell of itself: it knows all sessions, and what those that have ended have had. Owned by the
// server; any thread. Takes no session's lock, so that no session's work delays an answer.
class StatusBoard {
 public:
  explicit StatusBoard(const NativeDriver& driver);
  ~StatusBoard() { stop(); }

  void add(const Ref<Session>& session) EXCLUDES(mutex_);
  void remove(Session& session) EXCLUDES(mutex_);

  // The encoded Status for `asker`, null for a monitor, that asks from the address `from`. It sees the sessions of its
  // own address, on loopback all of them.
  std::vector<std::byte> answer(Token token, const Session* asker, const Address& from) EXCLUDES(mutex_);

  // Ends the thread that looks at the devices.
  void stop() { sampler_.stop(); }

  // This machine's name.
  const std::string& host() const { return host_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<Ref<Session>> sessions() const EXCLUDES(mutex_);
  void find_ends() EXCLUDES(mutex_);

  const NativeDriver& driver_;
  const Clock::time_point begun_ = Clock::now();
  const std::string host_;
  mutable Mutex mutex_;
  std::map<Session*, Ref<Session>> sessions_ GUARDED_BY(mutex_);
  std::uint64_t past_commands_ GUARDED_BY(mutex_) = 0;  // of sessions that have ended, like what follows
  Traffic past_clients_ GUARDED_BY(mutex_);
  Traffic past_peers_ GUARDED_BY(mutex_);
  LoadSampler sampler_;  // last: its thread uses the rest
};

}  // namespace remotecl::server
