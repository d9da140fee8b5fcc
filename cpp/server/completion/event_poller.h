#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "server/completion/completion_notifier.h"

namespace remotecl::server {

// How a thread that reads a connection looks at a session's native events between two reads: what ends soon is reported
// without waking another thread, which would take longer than a small command. While there is one on a thread's stack,
// no thread waits for the lanes of EventWaiters that this one opens. Others may wait for their ends: before the thread
// blocks on anything but its connection, or is busy for long, it must leave() the lanes to EventWaiters' threads.
class EventPoller {
 public:
  // Who waits for an event shall not wait for more messages than these to be carried out.
  static constexpr std::size_t kMessagesPerLook = 16;

  explicit EventPoller(const CompletionNotifier& completions);
  ~EventPoller();
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  // This thread's; null where there is none.
  static EventPoller* current();
  // Whether this thread's poller is reporting an event. Others may wait until it has, so it must not block.
  static bool is_reporting();
  // Runs `job`, which may take any lock, on this thread once it has reported.
  static void after_reporting(std::function<void()> job);
  // Of this thread's poller, if it has one.
  static void leave_all();

  // As connection.read_some(to), and reports events meanwhile.
  std::size_t read_some(Connection& connection, MutableBytes to);
  // Reports what ends soon, and leaves the rest.
  void look_for_a_while();
  void leave();
  bool is_of(const EventWaiters& waiters) const { return waiters_.get() == &waiters; }

 private:
  // The longest that it looks before it leaves; a GPU's small commands take 5 to 15 us.
  static constexpr auto kTime = std::chrono::microseconds(50);
  // Looking in vain costs a core for that time, so it then looks less often: after this many reads at the latest.
  static constexpr int kSkippedMax = 7;
  static constexpr int kLooksPerTurn = 4;

  // Looks until `is_over`, which is then true, or leaves.
  template <class Condition>
  bool look_until(Condition is_over);
  void look();

  const Ref<EventWaiters> waiters_;
  std::vector<std::function<void()>> after_reporting_;
  bool is_reporting_ = false;
  int skipped_ = 0;
  int left_to_skip_ = 0;
};

// For locks under which somebody may wait until an event is reported.
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
