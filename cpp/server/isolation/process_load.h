#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/base/mutex.h"
#include "server/isolation/session_channel.h"
#include "server/status/session_load.h"

namespace remotecl::server {

// The load of a session that has a process of its own, as far as the process has reported it. Any thread, unless stated
// otherwise.
class ProcessLoad {
 public:
  // `load`: with no load yet. `changed` is called after each report.
  ProcessLoad(SessionLoad load, std::function<void()> changed) : changed_(std::move(changed)), load_(std::move(load)) {}

  SessionLoad get() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return load_;
  }
  void report(const DeviceLoads& loads) EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      for (const LoadOfDevice& load : loads_of(loads)) {
        if (load.index >= load_.devices.size()) continue;
        load_.devices[load.index].queued_s = std::min(static_cast<double>(load.queued_us) / 1e6, kQueuedMax);
      }
    }
    changed_();
  }
  // Makes the process start or stop measuring it. Returns false if the process takes no message now. One thread.
  bool measure(bool is_wanted, SessionChannel& process) EXCLUDES(mutex_) {
    if (is_measured_ == is_wanted) return true;
    {
      const MutexLock lock(mutex_);
      for (SessionLoad::OnDevice& load : load_.devices) load.queued_s = 0;
    }
    if (!process.send(PacketType::kWatchLoads, WatchLoads{is_wanted ? 1u : 0u})) return false;
    is_measured_ = is_wanted;
    return true;
  }

 private:
  static constexpr double kQueuedMax = 86400;  // seconds; the process may say anything

  const std::function<void()> changed_;
  bool is_measured_ = false;  // used by measure()
  mutable Mutex mutex_;
  SessionLoad load_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
