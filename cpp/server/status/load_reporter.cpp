#include "server/status/load_reporter.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/util/log.h"

namespace remotecl::server {

void LoadReporter::watch(std::uint64_t session, std::vector<std::uint32_t> devices, Take take) {
  auto watcher = std::make_shared<Watcher>(Watcher{session, std::move(devices), std::move(take), {}});
  MutexLock lock(thread_.mutex);
  watchers_[session].swap(watcher);  // the former one is destroyed after unlocking
  is_quiet_.store(false, std::memory_order_relaxed);
  try {
    thread_.start();
    thread_.wake();
  } catch (const std::system_error& error) {
    log_warning("no thread to report the devices' load: {}; the next one who asks tries again", error.what());
  }
}

void LoadReporter::unwatch(std::uint64_t session) {
  std::shared_ptr<Watcher> last;  // destroyed after unlocking
  MutexLock lock(thread_.mutex);
  const auto at = watchers_.find(session);
  if (at == watchers_.end()) return;
  last = std::move(at->second);
  watchers_.erase(at);
}

void LoadReporter::wake() {
  const MutexLock lock(thread_.mutex);
  thread_.wake();
}

void LoadReporter::run() {
  bool is_resting = true;
  for (;;) {
    Watchers watchers;
    if (!await_watchers(watchers, is_resting)) return;
    is_resting = watchers.empty();
    if (is_resting) {
      source_.rest();
    } else if (!report(watchers)) {
      source_.pause();
    }
  }
}

bool LoadReporter::await_watchers(Watchers& watchers, bool is_resting) {
  MutexLock lock(thread_.mutex);
  while (!thread_.is_stopping()) {
    if (watchers_.empty() && !is_resting) break;
    if (watchers_.empty() || is_quiet_.load(std::memory_order_relaxed)) {
      thread_.wait();
    } else if (std::chrono::steady_clock::now() < next_) {
      thread_.wait_until(next_);
    } else {
      break;
    }
  }
  for (const auto& [session, watcher] : watchers_) watchers.push_back(watcher);
  is_quiet_.exchange(true, std::memory_order_acq_rel);
  return !thread_.is_stopping();
}

bool LoadReporter::report(const Watchers& watchers) {
  next_ = std::chrono::steady_clock::now() + kPeriod;
  const std::vector<SessionLoad> sessions = source_.look();
  bool is_quiet = std::ranges::none_of(sessions, [](const SessionLoad& session) {
    return std::ranges::any_of(session.devices, [](const SessionLoad::OnDevice& load) { return load.queued_s > 0; });
  });
  for (const auto& watcher : watchers) {
    const auto changes = watcher->reported.changes(loads_of_others(sessions, watcher->session, watcher->devices));
    if (changes.empty()) continue;
    if (watcher->take(changes)) {
      watcher->reported.reported(changes);
    } else {
      is_quiet = false;
    }
  }
  if (!is_quiet) is_quiet_.store(false, std::memory_order_relaxed);
  return !is_quiet;
}

}  // namespace remotecl::server
