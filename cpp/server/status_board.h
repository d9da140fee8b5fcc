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

  // Of all sessions, ended ones too, but for `sessions`: how many there are.
  struct Totals {
    std::uint64_t sessions = 0, begun = 0, commands = 0;
    Traffic clients, peers;
  };
  Totals totals() const EXCLUDES(mutex_);
  // Somebody asks again and again, at intervals of up to `patience`.
  void watch(std::chrono::seconds patience) { sampler_.watch(patience); }
  const NativeDriver& driver() const { return driver_; }
  std::chrono::steady_clock::time_point begun() const { return begun_; }

  // Ends the thread that looks at the devices.
  void stop() { sampler_.stop(); }

  // This machine's name.
  const std::string& host() const { return host_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<Ref<Session>> sessions() const EXCLUDES(mutex_);
  void find_ends() EXCLUDES(mutex_);
  Totals totals_locked() const REQUIRES(mutex_);

  const NativeDriver& driver_;
  const Clock::time_point begun_ = Clock::now();
  const std::string host_;
  mutable Mutex mutex_;
  std::map<Session*, Ref<Session>> sessions_ GUARDED_BY(mutex_);
  Totals past_ GUARDED_BY(mutex_);  // of sessions that have ended
  LoadSampler sampler_;             // last: its thread uses the rest
};

}  // namespace remotecl::server
