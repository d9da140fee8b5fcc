#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/driver/native_driver.h"
#include "server/status/load_meter.h"
#include "server/status/load_reporter.h"

namespace remotecl::server {

// Measures the load that this process's sessions put on the devices, and reports it to the sessions that watch. A
// process that has only one of the daemon's sessions exchanges loads with the daemon. Owned by the sessions' host;
// any thread.
class LoadBoard final : private LoadSource {
 public:
  // `find_ends` is called now and then on the reporter's thread, to find out how much of the busy queues' work has
  // ended.
  LoadBoard(const NativeDriver& driver, std::function<void()> find_ends);

  void add(std::uint64_t session, double weight) EXCLUDES(mutex_);
  // The session has ended, and watches no more.
  void remove(std::uint64_t session) EXCLUDES(mutex_);

  // See LoadReporter.
  void watch(std::uint64_t session, std::vector<std::uint32_t> devices, LoadReporter::Take take);
  // A session was given commands.
  void changed() { reporter_.changed(); }
  void unwatch(std::uint64_t session) EXCLUDES(mutex_);

  // ---- For a process of one session. Call exchange() before the session exists: `wants_loads` is called when the
  // session starts and when it stops watching.
  void exchange(std::function<void(bool)> wants_loads) { wants_loads_ = std::move(wants_loads); }
  // The load of other processes' sessions.
  void set_elsewhere(std::span<const LoadOfDevice> loads) EXCLUDES(mutex_);
  // Reports the load of this process's session to the daemon, until called with null.
  void watch_from_elsewhere(LoadReporter::Take take);

 private:
  // The session that stands for all that are in other processes. No session has this id.
  static constexpr std::uint64_t kElsewhere = 0;
  static constexpr unsigned kLooksPerSearch = 2;

  std::vector<SessionLoad> look() override EXCLUDES(mutex_);
  void pause() override;
  void rest() override;

  const NativeDriver& driver_;
  const std::function<void()> find_ends_;
  std::function<void(bool)> wants_loads_;  // constant once there are sessions
  std::vector<LoadMeter> meters_;          // by device; used by the reporter's thread
  bool is_busy_ = false;                   // at the last look; likewise
  unsigned looks_ = 0;                     // likewise
  Mutex mutex_;
  std::map<std::uint64_t, double> weights_ GUARDED_BY(mutex_);  // of sessions
  std::vector<SessionLoad::OnDevice> elsewhere_ GUARDED_BY(mutex_);
  LoadReporter reporter_{*this};  // last, because its thread uses the other members
};

}  // namespace remotecl::server
