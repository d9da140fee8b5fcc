#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {

// Threads that each do a part of one thread's present work, such as a system call on a connection of their
// own. They are started when first needed, and spin for a moment before they sleep. Owned by a connection;
// one thread at a time.
class HelperThreads {
 public:
  explicit HelperThreads(unsigned size) : size_(size) {}
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  // Returns false if threads cannot be started.
  bool is_there();
  // Calls work(0) on this thread and work(1) to work(size) on helpers, waits for all of them, and rethrows an
  // exception of any. If a helper has not begun its part when the caller is done with its own, the caller
  // does it. REQUIRES: is_there() returned true.
  void run(const std::function<void(unsigned)>& work);
  // Like memcpy(); large copies use all threads. One core copies 8 to 10 GB/s, which is less than a memory
  // bus or a GPU's link can do. At most one helped copy per four cores runs in this process, because both
  // ends of a connection copy at the same time; beyond that, the caller copies alone.
  void copy(MutableBytes to, Bytes from);

 private:
  enum State : std::uint32_t { kNothing, kOffered, kTaken, kDone, kLeave };

  // A thread that waits for a state, which another thread stores before it calls wake(). Both are seq_cst, so
  // one sees the other.
  struct Sleeper {
    std::atomic<std::uint32_t> sleeps{0};  // a futex
    WaitPolicy spin;

    template <class Condition>
    void until(Condition condition);
    void wake();
  };
  struct Helper {
    std::atomic<std::uint32_t> state{kNothing};
    Sleeper helper, caller;
    std::thread thread;
  };

  void serve(Helper& helper, unsigned part);
  void do_part(unsigned part);
  void dismiss();
  bool copy_together(MutableBytes to, Bytes from);

  const unsigned size_;
  bool has_failed_ = false;
  const std::function<void(unsigned)>* work_ = nullptr;  // read from kTaken to kDone
  Mutex failure_mutex_;
  std::exception_ptr failure_ GUARDED_BY(failure_mutex_);
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace remotecl
