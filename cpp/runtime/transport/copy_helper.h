#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/adaptive_spin.h"

namespace remotecl {

// A second thread for copies of bulk data: one core copies 8 to 10 GB/s, which is less than a memory bus and a GPU's
// link have. One for the process, made when it is first of use; whoever finds it busy copies alone. Where there are few
// cores there is none: both ends of a connection are busy copying then. Any thread.
class CopyHelper {
 public:
  static constexpr unsigned kCoresMin = 4;

  static CopyHelper& instance();
  explicit CopyHelper(unsigned cores);

  // As memcpy().
  void copy(MutableBytes to, Bytes from);

 private:
  static constexpr std::size_t kWorthHelp = 64u << 10;

  enum State : std::uint32_t { kNothing, kOffered, kTaken, kDone };

  bool has_thread() REQUIRES(mutex_);
  void offer(MutableBytes to, Bytes from) REQUIRES(mutex_);
  void finish() REQUIRES(mutex_);
  [[noreturn]] void run();

  const bool is_of_use_;
  Mutex mutex_;  // whose copy it is
  bool has_thread_ GUARDED_BY(mutex_) = false;
  // The helper's half: written by who holds the mutex before kOffered, read by the helper from kTaken to kDone.
  MutableBytes to_;
  Bytes from_;
  std::atomic<std::uint32_t> state_{kNothing};
  std::atomic<std::uint32_t> sleeps_{0};  // the helper; a futex
  AdaptiveSpin spin_;                     // the helper's
};

}  // namespace remotecl
