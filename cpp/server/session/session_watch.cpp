#include "server/session/session_watch.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/session/session.h"
#include "server/util/format.h"
#include "server/util/log.h"

namespace remotecl::server {

SessionWatch::SessionWatch(const NativeDriver& driver, std::function<void(Session&)> stuck)
    : driver_(driver), stuck_(std::move(stuck)) {}

void SessionWatch::add(const Ref<Session>& session) {
  MutexLock lock(thread_.mutex);
  sessions_.emplace(session.get(), Watched{session});
  wake();
}

void SessionWatch::look_again() {
  MutexLock lock(thread_.mutex);
  wake();
}

void SessionWatch::wake() {
  if (!has_work()) return;
  try {
    thread_.start();
    thread_.wake();
  } catch (const std::system_error& error) {
    log_warning("no thread to look after sessions: {}; the next one tries again", error.what());
  }
}

void SessionWatch::remove(Session& session) {
  Watched last;  // destroyed after unlocking
  MutexLock lock(thread_.mutex);
  const auto at = sessions_.find(&session);
  if (at == sessions_.end()) return;
  last = std::move(at->second);
  sessions_.erase(at);
}

bool SessionWatch::has_work() const {
  return std::any_of(sessions_.begin(), sessions_.end(), [](const auto& each) {
    const Watched& watched = each.second;
    if (watched.session->lifetime().over_since()) return !watched.is_reported;
    return watched.session->grant().command_time_max().has_value() || watched.session->has_arguments();
  });
}

void SessionWatch::run() {
  for (;;) {
    {
      MutexLock lock(thread_.mutex);
      while (!thread_.is_stopping() && !has_work()) thread_.wait();
      if (!thread_.is_stopping()) thread_.wait_until(std::chrono::steady_clock::now() + kPeriod);
      if (thread_.is_stopping()) return;
    }
    look();
  }
}

void SessionWatch::look() {
  std::vector<Ref<Session>> running, limited, stuck;
  {
    const auto now = std::chrono::steady_clock::now();
    MutexLock lock(thread_.mutex);
    for (auto& [key, watched] : sessions_) {
      const auto over = watched.session->lifetime().over_since();
      if (!over) {
        running.push_back(watched.session);
        if (watched.session->grant().command_time_max()) limited.push_back(watched.session);
      } else if (!watched.is_reported && now - *over >= kEndPatience) {
        watched.is_reported = true;
        stuck.push_back(watched.session);
      }
    }
  }
  for (const auto& session : running) {
    const LogScope scope(session->id());
    session->stop_arguments_of_absent();
  }
  if (!limited.empty()) {
    const Longest longest = find_longest();
    for (const auto& session : limited) end_if_overdue(*session, longest);
  }
  for (const auto& session : stuck) {
    const LogScope scope(session->id());
    stuck_(*session);
  }
}

SessionWatch::Longest SessionWatch::find_longest() const {
  Longest longest;
  for (const auto& device : driver_.devices()) longest.push_back(device->turns()->longest());
  return longest;
}

// Only the session whose command runs is ended, not one whose command waits, or has waited, for another session's.
void SessionWatch::end_if_overdue(Session& session, const Longest& longest_of) const {
  const auto limit = *session.grant().command_time_max();
  for (const auto& device : driver_.devices()) {
    const auto& longest = longest_of[device->index()];
    if (!longest || longest->session != session.id()) continue;
    if (std::chrono::steady_clock::now() - longest->since <= limit) continue;
    const LogScope scope(session.id(), device->index());
    log_warning("a command of user {} has run for more than {} s; the session ends", session.grant().user().name(),
                limit.count());
    session.close(format_text(
        "a command has run on device {} for more than {} s, which is as long as one may there (command-seconds). Give "
        "the device less work with each command, or ask whoever runs the server for a higher limit",
        device->index(), limit.count()));
    return;
  }
}

}  // namespace remotecl::server
