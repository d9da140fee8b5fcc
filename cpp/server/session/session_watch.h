#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

class Session;

// Ends sessions that run a command for longer than they may, and finds those that are over and do not end, because a
// driver is not done with what it has of them. Owned by the sessions' host; any thread. Has a thread of its own once
// there has been something to look at.
class SessionWatch {
 public:
  // How long a session may take to end.
  static constexpr std::chrono::seconds kEndPatience{3};

  // `stuck` is called once for each session that takes longer, on the watch's thread.
  SessionWatch(const NativeDriver& driver, std::function<void(Session&)> stuck);
  ~SessionWatch();
  SessionWatch(const SessionWatch&) = delete;
  SessionWatch& operator=(const SessionWatch&) = delete;

  // From now on, as long as its grant says how long a command may run, and when it is over.
  void add(const Ref<Session>& session) EXCLUDES(mutex_);
  // One of them is over.
  void look_at_end() EXCLUDES(mutex_);
  // It has ended.
  void remove(Session& session) EXCLUDES(mutex_);

 private:
  static constexpr std::chrono::milliseconds kPeriod{100};

  struct Watched {
    Ref<Session> session;
    bool is_told = false;  // that it is stuck
  };

  void wake() REQUIRES(mutex_);
  void run() EXCLUDES(mutex_);
  bool has_work() const REQUIRES(mutex_);
  void look() EXCLUDES(mutex_);
  void end_if_overdue(Session& session) const;

  const NativeDriver& driver_;
  const std::function<void(Session&)> stuck_;
  Mutex mutex_;
  ConditionVariable wake_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<Session*, Watched> sessions_ GUARDED_BY(mutex_);
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
