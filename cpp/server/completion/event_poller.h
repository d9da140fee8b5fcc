#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "server/completion/completion_notifier.h"

namespace remotecl::server {

// Lets a thread that reads a connection poll a session's native events between two reads, so that ends that
// come soon are reported without waking another thread, which would take longer than a small command. While a
// poller is on a thread's stack, no thread waits for the lanes of EventWaiters that this thread opens,
// although other threads may depend on their ends. So before the thread blocks on anything but its
// connection, or is busy for long, it must leave() the lanes to EventWaiters' threads.
class EventPoller {
 public:
  // Limits how many more messages are handled before an ended event is reported.
  static constexpr std::size_t kMessagesPerLook = 16;

  explicit EventPoller(const CompletionNotifier& completions);
  ~EventPoller();
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  // This thread's poller, or null.
  static EventPoller* current();
  // Returns true if this thread's poller is reporting an event. Other threads may wait for that, so it must
  // not block.
  static bool is_reporting();
  // Runs `job`, which may take any lock, on this thread after reporting.
  static void after_reporting(std::function<void()> job);
  // Calls leave() of this thread's poller, if it has one.
  static void leave_all();

  // Like connection.read_some(to), and reports events meanwhile.
  std::size_t read_some(Connection& connection, MutableBytes to);
  // Reports what ends soon, and leaves the rest.
  void look_for_a_while();
  void leave();
  bool is_of(const EventWaiters& waiters) const { return waiters_.get() == &waiters; }

 private:
  // How long it polls at most before it leaves. Small commands of a GPU take 5 to 15 us.
  static constexpr auto kTime = std::chrono::microseconds(50);
  // Polling in vain costs a core for that time, so it then polls less often, but at least once in kSkippedMax + 1
  // reads.
  static constexpr int kSkippedMax = 7;
  static constexpr int kLooksPerTurn = 4;

  // Polls until `is_over`, and returns true then. Otherwise leaves.
  template <class Condition>
  bool look_until(Condition is_over);
  void look();

  const Ref<EventWaiters> waiters_;
  std::vector<std::function<void()>> after_reporting_;
  bool is_reporting_ = false;
  int skipped_ = 0;
  int left_to_skip_ = 0;
};

// For locks under which another thread may wait until an event is reported.
class REMOTECL_TSA(scoped_lockable) LeavingLock {
 public:
  explicit LeavingLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    EventPoller::leave_all();
    mutex_.lock();
  }
  ~LeavingLock() RELEASE() { mutex_.unlock(); }
  LeavingLock(const LeavingLock&) = delete;
  LeavingLock& operator=(const LeavingLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace remotecl::server
