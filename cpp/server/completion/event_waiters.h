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
#include "server/completion/completion_notifier.h"
#include "server/completion/native.h"

namespace remotecl::server {

// Detects that native events of a session have ended, for drivers that call back late: NVIDIA's takes some 20
// us longer than a waiting thread, and occasionally more than a millisecond. The events of an in-order queue
// form a lane, because they end in order. Every other event has its own lane, because other events may wait
// for it, and so has an event of an in-order queue that is asked for after a later one of its queue. A thread waits for
// each lane, unless an EventPoller polls it. If there are too many threads, the driver's callback is used.
//
// The first thread to see an end reports it, with all others that have ended, in the order in which they were
// added, so that each end is reported before the ends of those that waited for it. One thread reports at a
// time, without the lock and without waiting for other threads, which leave to it what they see. Owned by the
// session and by the threads; any thread.
class EventWaiters final : public RefCounted {
 public:
  using Function = std::function<void(cl_int status)>;
  using Position = CompletionNotifier::Position;
  enum class Report {
    kInTurn,  // after everything that ended before
    kAsked,   // the same, and what has ended is reported before wait() returns
    kApart,   // in no order, by a thread that reports nothing else
  };

  explicit EventWaiters(CompletionNotifier::Failed failed) : failed_(std::move(failed)) {}

  // Calls `work` on a thread on which nobody else catches its exceptions: a waiting thread, or one of the driver.
  template <class Work>
  void guard(const Work& work) noexcept {
    try {
      work();
    } catch (const std::exception& error) {
      if (failed_) failed_(error);
    }
  }

  // From now on waits for events of this context.
  void add(cl_context context) EXCLUDES(mutex_);
  // Announces a command with this position. One thread at a time.
  void comes(Position position) {
    if (position > last_.load(std::memory_order_relaxed)) last_.store(position, std::memory_order_relaxed);
  }
  // Calls `function`, which must not block or take a session's lock, when the event has ended; before wait()
  // returns if it has ended and no other thread is reporting. Returns false, and leaves `function` unchanged,
  // if the event's driver calls back fast.
  bool wait(cl_event event, Function& function, Report report = Report::kInTurn,
            Position position = CompletionNotifier::kLast) EXCLUDES(mutex_);
  // Ends the threads that have nothing to wait for.
  void stop() EXCLUDES(mutex_);

  // For EventPoller.
  // Returns true if there are lanes for which no thread waits.
  bool has_unwatched() const { return has_unwatched_.load(std::memory_order_relaxed); }
  // Reports what has ended.
  void look() EXCLUDES(mutex_);
  // Leaves these lanes to threads.
  void watch_all() EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kThreadsMax = 128;

  struct Job {
    Native<cl_event> event;
    std::uint64_t number = 0;  // higher than the numbers of the commands that it waits for
    Function function;
    Position position = 0;
    cl_int status = CL_COMPLETE;  // valid once it has ended
  };
  struct Callback;
  struct Lane {
    bool is_apart = false;
    std::deque<Job> jobs{};  // the first one is waited for; ascending by position unless it is apart
  };

  static void insert(Lane& lane, Job job);
  void run() EXCLUDES(mutex_);
  void run(void* key) EXCLUDES(mutex_);
  bool has_thread_for_one_more() REQUIRES(mutex_);
  // Returns false if call_back() must be called next, without the lock.
  bool open(void* key, bool is_apart, Job job) REQUIRES(mutex_);
  void watch(void* key) REQUIRES(mutex_);
  void call_back(void* key, Native<cl_event> event) EXCLUDES(mutex_);
  void called_back(void* key, const Native<cl_event>& event, cl_int status) EXCLUDES(mutex_);
  // The lane's first event, which has to be waited for. If there is none, removes the lane and returns null.
  Native<cl_event> first(void* key) REQUIRES(mutex_);
  // The lane's first event has ended.
  void end_first(void* key, const Native<cl_event>& event, cl_int error) EXCLUDES(mutex_);
  void collect_ended() REQUIRES(mutex_);
  void collect(Job job, cl_int status) REQUIRES(mutex_);
  void report() EXCLUDES(mutex_);
  void report_asked(std::uint64_t collected) EXCLUDES(mutex_);

  const CompletionNotifier::Failed failed_;
  std::atomic<bool> is_needed_{false};
  std::atomic<bool> has_unwatched_{false};
  std::atomic<Position> last_{0};
  // Held during queries of an event's status, which do not block, but during no other call of the driver.
  Mutex mutex_;
  ConditionVariable wake_;
  ConditionVariable reported_some_;
  std::unordered_set<cl_context> contexts_ GUARDED_BY(mutex_);
  std::unordered_map<void*, Lane> lanes_ GUARDED_BY(mutex_);  // by queue or event; removed by what watches them
  std::vector<void*> unwatched_ GUARDED_BY(mutex_);           // lanes that pollers poll
  std::deque<void*> ready_ GUARDED_BY(mutex_);                // lanes that a thread will wait for next
  std::deque<Job> ended_ GUARDED_BY(mutex_);                  // to be reported
  std::thread::id reporter_ GUARDED_BY(mutex_);               // the reporting thread, if any
  std::uint64_t jobs_ GUARDED_BY(mutex_) = 0;                 // number of jobs so far
  std::uint64_t collected_ GUARDED_BY(mutex_) = 0;            // of these, have ended
  std::uint64_t reported_ GUARDED_BY(mutex_) = 0;             // of these, have been reported
  std::size_t threads_ GUARDED_BY(mutex_) = 0;                // at least one for each lane without a callback
  std::size_t callbacks_ GUARDED_BY(mutex_) = 0;              // lanes with a callback
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
