#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/stoppable_thread.h"
#include "server/status/session_load.h"

namespace remotecl::server {

// Where a LoadReporter gets the sessions' loads. Used by its thread.
class LoadSource {
 public:
  // Called every few milliseconds while somebody watches and there is load.
  virtual std::vector<SessionLoad> look() = 0;
  // There is no load, so the next look may come much later.
  virtual void pause() = 0;
  // Nobody watches any more.
  virtual void rest() = 0;

 protected:
  ~LoadSource() = default;
};

// Reports to watching sessions how busy the others keep the devices. Its thread starts with the first watcher, and
// sleeps while there is none or no session has work. Any thread.
class LoadReporter {
 public:
  static constexpr std::chrono::milliseconds kPeriod{10};

  // Takes the devices whose load has changed. Must not block. Returns false if it has no room now: the newest loads
  // come again later, so nothing piles up.
  using Take = std::function<bool(std::span<const LoadOfDevice>)>;

  explicit LoadReporter(LoadSource& source) : source_(source) {}
  LoadReporter(const LoadReporter&) = delete;
  LoadReporter& operator=(const LoadReporter&) = delete;

  // Reports the work that all other sessions have on `devices`, until unwatch(). The first report has all devices.
  // Replaces the session's former watcher.
  void watch(std::uint64_t session, std::vector<std::uint32_t> devices, Take take) EXCLUDES(thread_.mutex);
  // A report that has begun may still reach the watcher.
  void unwatch(std::uint64_t session) EXCLUDES(thread_.mutex);
  // A session that had no load may have some. Cheap while the thread looks anyway.
  void changed() EXCLUDES(thread_.mutex) {
    if (is_quiet_.exchange(false, std::memory_order_acq_rel)) [[unlikely]]
      wake();
  }
  void stop() { thread_.stop(); }

 private:
  struct Watcher {
    std::uint64_t session;
    std::vector<std::uint32_t> devices;
    Take take;
    ReportedLoads reported;  // used by the thread
  };
  using Watchers = std::vector<std::shared_ptr<Watcher>>;

  void run() EXCLUDES(thread_.mutex);
  // Waits until it is time to report. Returns false if the thread is to stop.
  bool await_watchers(Watchers& watchers, bool is_resting) EXCLUDES(thread_.mutex);
  // Returns false if nothing more is to be reported until changed().
  bool report(const Watchers& watchers);
  void wake() EXCLUDES(thread_.mutex);

  LoadSource& source_;
  std::map<std::uint64_t, std::shared_ptr<Watcher>> watchers_ GUARDED_BY(thread_.mutex);
  std::chrono::steady_clock::time_point next_{};  // used by the thread
  // Nothing is to be reported. Set before each look, when the list of watchers is taken, so that changed() and watch()
  // notice whatever comes later.
  std::atomic<bool> is_quiet_{false};
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
