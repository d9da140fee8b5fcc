#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/base/stoppable_thread.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

class Session;

// Ends sessions whose command runs longer than allowed, stops the provided arguments of those whose client is away, and
// reports those that are over but do not end because a driver still works for them. Owned by the sessions' host; any
// thread. Starts a thread once there is something to watch.
class SessionWatch {
 public:
  // How long a session may take to end.
  static constexpr std::chrono::seconds kEndPatience{3};

  // `stuck` is called on the watch's thread, once for each session that takes longer.
  SessionWatch(const NativeDriver& driver, std::function<void(Session&)> stuck);
  SessionWatch(const SessionWatch&) = delete;
  SessionWatch& operator=(const SessionWatch&) = delete;

  // Watches the session while it runs, if its grant limits the time of commands or it has provided arguments, and in
  // any case once it is over.
  void add(const Ref<Session>& session) EXCLUDES(thread_.mutex);
  // A watched session is over, or has a provided argument.
  void look_again() EXCLUDES(thread_.mutex);
  // The session has ended.
  void remove(Session& session) EXCLUDES(thread_.mutex);

 private:
  static constexpr std::chrono::milliseconds kPeriod{100};

  struct Watched {
    Ref<Session> session;
    bool is_reported = false;  // as stuck
  };

  void wake() REQUIRES(thread_.mutex);
  void run() EXCLUDES(thread_.mutex);
  bool has_work() const REQUIRES(thread_.mutex);
  void look() EXCLUDES(thread_.mutex);
  // By device.
  using Longest = std::vector<std::optional<DeviceTurns::Longest>>;
  Longest find_longest() const;
  void end_if_overdue(Session& session, const Longest& longest) const;

  const NativeDriver& driver_;
  const std::function<void(Session&)> stuck_;
  std::map<Session*, Watched> sessions_ GUARDED_BY(thread_.mutex);
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
