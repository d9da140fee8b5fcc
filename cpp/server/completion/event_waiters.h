#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/native.h"

namespace remotecl::server {

// Finds out that native events of a session have ended, for drivers that call back late: NVIDIA's takes some 20 us
// more than a waiting thread, and now and then more than a millisecond. Events of an in-order queue are a lane, as they
// end in order; each other event is one of its own, since another one may wait for it. A thread waits for each lane,
// unless an EventPoller looks at it; where there are too many threads, the driver's callback has to do.
//
// The first to see an end reports it: with all others that have ended, in the order in which they came here, so that
// what ended is reported before what waited for it. One thread reports at a time, without the lock and without waiting
// for others, which leave to it what they see. Owned by the session and by the threads; any thread.
class EventWaiters final : public RefCounted {
 public:
  using Function = std::function<void(cl_int status)>;
  enum class Report {
    kInTurn,  // after what has ended before
    kAsked,   // the same; what has ended is reported before wait() returns
    kApart,   // in no order, by a thread that reports nothing else
  };

  // From now on events of this context are waited for.
  void add(cl_context context) EXCLUDES(mutex_);
  // Calls `function`, which must not block or take a session's lock, when the event has ended; before this returns if
  // it has and no other thread is reporting. False, and `function` is left as it was, when the event's driver calls
  // back fast.
  bool wait(cl_event event, Function& function, Report report = Report::kInTurn) EXCLUDES(mutex_);
  // Threads that have nothing to wait for end.
  void stop() EXCLUDES(mutex_);

  // For EventPoller.
  // Whether there are lanes for which no thread waits.
  bool has_unwatched() const { return has_unwatched_.load(std::memory_order_relaxed); }
  // Reports what has ended.
  void look() EXCLUDES(mutex_);
  // Leaves these lanes to threads.
  void watch_all() EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kThreadsMax = 128;

  struct Job {
    Native<cl_event> event;
    std::uint64_t number = 0;  // of a command that waits for another one it is the higher one
    Function function;
    cl_int status = CL_COMPLETE;  // once it has ended
  };
  struct Callback;
  struct Lane {
    bool is_apart = false;
    std::deque<Job> jobs{};  // the first one is waited for
  };

  void run() EXCLUDES(mutex_);
  void run(void* key) EXCLUDES(mutex_);
  bool has_thread_for_one_more() REQUIRES(mutex_);
  // False: call_back() has to follow, without the lock.
  bool open(void* key, bool is_apart, Job job) REQUIRES(mutex_);
  void watch(void* key) REQUIRES(mutex_);
  void call_back(void* key, Native<cl_event> event) EXCLUDES(mutex_);
  void called_back(void* key, const Native<cl_event>& event, cl_int status) EXCLUDES(mutex_);
  // The lane's first event, which has to be waited for; null, and the lane is gone, when there is none.
  Native<cl_event> first(void* key) EXCLUDES(mutex_);
  // It has ended.
  void end_first(void* key, const Native<cl_event>& event, cl_int error) EXCLUDES(mutex_);
  void collect_ended() REQUIRES(mutex_);
  void collect(Job job, cl_int status) REQUIRES(mutex_);
  void report() EXCLUDES(mutex_);
  void report_asked(std::uint64_t collected) EXCLUDES(mutex_);

  std::atomic<bool> is_needed_{false};
  std::atomic<bool> has_unwatched_{false};
  // Held over queries of the driver for an event's status, which wait for nothing, and over no other call.
  Mutex mutex_;
  ConditionVariable wake_;
  ConditionVariable reported_some_;
  std::unordered_set<cl_context> contexts_ GUARDED_BY(mutex_);
  std::unordered_map<void*, Lane> lanes_ GUARDED_BY(mutex_);  // by queue or event; whoever watches a lane removes it
  std::vector<void*> unwatched_ GUARDED_BY(mutex_);           // lanes that pollers look at
  std::deque<void*> ready_ GUARDED_BY(mutex_);                // lanes for which a thread is about to wait
  std::deque<Job> ended_ GUARDED_BY(mutex_);                  // to be reported
  std::thread::id reporter_ GUARDED_BY(mutex_);               // none: nobody reports
  std::uint64_t jobs_ GUARDED_BY(mutex_) = 0;                 // so far
  std::uint64_t collected_ GUARDED_BY(mutex_) = 0;            // of these, have ended
  std::uint64_t reported_ GUARDED_BY(mutex_) = 0;             // of these, have been reported
  std::size_t threads_ GUARDED_BY(mutex_) = 0;                // at least one for each lane without a callback
  std::size_t callbacks_ GUARDED_BY(mutex_) = 0;              // lanes with one
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
