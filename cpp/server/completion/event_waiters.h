#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/native.h"

namespace remotecl::server {

// Threads that wait for native events, for drivers that take long to call back: NVIDIA's needs some 20 us more than a
// waiting thread, and now and then more than a millisecond. Events of an in-order queue share a thread, as they end in
// order; each other event has one of its own, since it may be what another one waits for. What ended is told before
// what waited for it, where both are in the same order: a session's. A thread with an EventPoller looks at the events
// of its lanes itself as long as it likes. One for the process; any thread.
class EventWaiters {
 public:
  using Function = std::function<void(cl_int status)>;

  static EventWaiters& instance();

  // From now on events of this context are waited for.
  void add(cl_context context) EXCLUDES(mutex_);
  // Calls `function` when the event has ended, and before this returns if it has already and is the first of its lane,
  // once what it may have waited for has been told. False, and `function` is left as it was, when the event's driver
  // calls back fast or there are too many threads. `order`: names the others that it is told before or after; null: it
  // is told by a thread of its own, and has no such others. Without `may_wait`, and on a thread that is telling, one
  // that has ended before others were told of is told by another thread, and this does not wait for that.
  bool wait(cl_event event, const void* order, Function& function, bool may_wait = true) EXCLUDES(mutex_);
  // For EventPoller. Tells of the lane's first event if it has ended; false when the lane has become empty.
  bool look(void* key) EXCLUDES(mutex_);
  void take_over(const std::vector<void*>& keys) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kThreadsMax = 128;

  // By the order, and then by the number: of a command that waits for another one it is the higher one.
  using Place = std::pair<const void*, std::uint64_t>;
  struct Job {
    Native<cl_event> event;
    Place place;
    Function function;
  };
  using Lane = std::deque<Job>;  // the first one is waited for

  void run() EXCLUDES(mutex_);
  void run(void* key) EXCLUDES(mutex_);
  bool has_thread_for_one_more() REQUIRES(mutex_);
  void make_ready(void* key) REQUIRES(mutex_);
  // The lane's first event has been told; false when it was the last one.
  bool pop(void* key) EXCLUDES(mutex_);
  void push(void* key, Job job) REQUIRES(mutex_);
  bool is_older_untold(const Place& place) REQUIRES(mutex_);
  void wait_for_older(const Place& place) REQUIRES(mutex_);

  std::atomic<bool> needed_{false};
  Mutex mutex_;
  ConditionVariable wake_;
  std::unordered_set<cl_context> contexts_ GUARDED_BY(mutex_);
  // By queue or event. Each has a thread, is ready for one, or is a poller's.
  std::unordered_map<void*, Lane> lanes_ GUARDED_BY(mutex_);
  std::map<Place, cl_event> firsts_ GUARDED_BY(mutex_);  // of lanes that are in some order
  // Threads whose event has ended, and older ones, too. Only the oldest of an order can be next.
  std::map<Place, ConditionVariable*> behind_ GUARDED_BY(mutex_);
  std::deque<void*> ready_ GUARDED_BY(mutex_);
  std::uint64_t jobs_ GUARDED_BY(mutex_) = 0;
  std::size_t threads_ GUARDED_BY(mutex_) = 0;  // at least one for each lane
};

}  // namespace remotecl::server
