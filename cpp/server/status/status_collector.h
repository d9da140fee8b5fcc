#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/address.h"
#include "server/driver/native_driver.h"
#include "server/status/load_sampler.h"
#include "server/status/status_report.h"
#include "server/status/status_source.h"
#include "server/status/viewer.h"

namespace remotecl::server {

// The process that a Status describes. A value.
struct DaemonIdentity {
  std::string host;  // the machine's name
  std::uint64_t process = 0;
  std::chrono::steady_clock::time_point begun;

  static DaemonIdentity own();
};

// The encoded Status.
std::vector<std::byte> encode_status(Token token, const DaemonIdentity& daemon, const NativeDriver& driver,
                                     const StatusReport& report);

// Reports on this process's sessions, including those that have ended. Owned by their host; any thread. Takes
// no session's lock, so that no session's work delays an answer.
class StatusCollector {
 public:
  explicit StatusCollector(const NativeDriver& driver);
  ~StatusCollector();

  void add(const Ref<StatusSource>& session) EXCLUDES(mutex_);
  void remove(StatusSource& session) EXCLUDES(mutex_);

  // `asker`: the session that asks, or null for a monitor. It is expected to ask again within `patience`.
  StatusReport report(const StatusSource* asker, const Viewer& viewer, std::chrono::seconds patience) EXCLUDES(mutex_);
  // The encoded Status for a session that asks.
  std::vector<std::byte> answer(Token token, const StatusSource& asker) EXCLUDES(mutex_);

  // Arranges that the ends of all sessions' present work become known.
  void find_ends() EXCLUDES(mutex_);

  // Ends the sampling thread.
  void stop() { sampler_.stop(); }

  const DaemonIdentity& daemon() const { return daemon_; }

 private:
  std::vector<Ref<StatusSource>> sessions() const EXCLUDES(mutex_);

  const NativeDriver& driver_;
  const DaemonIdentity daemon_;
  mutable Mutex mutex_;
  std::map<const StatusSource*, Ref<StatusSource>> sessions_ GUARDED_BY(mutex_);
  StatusReport past_ GUARDED_BY(mutex_);  // totals and users, of sessions that have ended
  LoadSampler sampler_;                   // last, because its thread uses the other members
};

}  // namespace remotecl::server
