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
#include "runtime/transport/threads/adaptive_spin.h"

namespace remotecl {

// Threads that do a part each of what one thread has to do now, such as a system call on a connection of their own.
// They are made when they are first of use, and spin for a moment before they sleep. Owned by a connection; one thread
// at a time.
class HelperThreads {
 public:
  explicit HelperThreads(unsigned size) : size_(size) {}
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  // False when no threads are to be had.
  bool is_there();
  // Calls work(0) here and work(1) to work(size) beside it; returns when all have, and throws what one of them has
  // thrown. A part that its helper has not begun when the caller has done its own is the caller's. After is_there().
  void run(const std::function<void(unsigned)>& work);
  // As memcpy(); bulk data by all. One core copies 8 to 10 GB/s, which is less than a memory bus and a GPU's link have.
  // One of four cores can have a helped copy in this process, because both ends of a connection copy at a time: where
  // more are under way the caller copies alone.
  void copy(MutableBytes to, Bytes from);

 private:
  enum State : std::uint32_t { kNothing, kOffered, kTaken, kDone, kLeave };

  // Who waits for a state that another thread stores and then calls wake() (both seq_cst: one sees the other).
  struct Sleeper {
    std::atomic<std::uint32_t> sleeps{0};  // a futex
    AdaptiveSpin spin;

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
