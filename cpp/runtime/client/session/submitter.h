#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl {

class ControlWriter;

// Sends messages that lie in control writers while the threads that have appended them compute or sleep: one thread for
// the process, asleep until a timer ends. It never waits for a socket, so a server that does not read holds up nobody
// else. Lives as long as the process. Any thread.
class Submitter {
 public:
  static Submitter& instance();

  void add(const std::shared_ptr<ControlWriter>& writer) EXCLUDES(mutex_);
  // Afterwards the Submitter's thread does not use it any more.
  void remove(const ControlWriter& writer) EXCLUDES(mutex_, pass_mutex_);

  // Sends what lies in all writers as far as their sockets take it: somebody is about to wait.
  void submit_all();
  // The thread sends what lies in writers at this time, or before; in ns of now_ns().
  void wake_by(std::int64_t time_ns);

  // What may lie a little longer is sent after so long. A timer costs a real processor a few hundred ns, and a virtual
  // one up to 20 us: it may take 1 % of the time.
  std::chrono::microseconds cheap_delay() const { return cheap_delay_; }

  // A writer has something to send, or nothing any more.
  void writer_filled() { filled_.fetch_add(1); }
  void writer_emptied() { filled_.fetch_sub(1); }

  static std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

 private:
  static constexpr std::chrono::microseconds kCheapDelayMin{40}, kCheapDelayMax{2000};

  using Writers = std::vector<std::shared_ptr<ControlWriter>>;

  Submitter();
  void run();
  void set_timer(std::int64_t time_ns) const;
  std::chrono::microseconds measure_cheap_delay() const;
  std::shared_ptr<const Writers> writers() EXCLUDES(mutex_);

  const int timer_;
  const std::chrono::microseconds cheap_delay_;
  std::atomic<std::int64_t> due_ns_{0};  // when the timer ends; 0: it is off
  std::atomic<int> filled_{0};
  Mutex pass_mutex_;  // held by the thread while it goes through the writers, none of which makes it wait
  Mutex mutex_;
  std::shared_ptr<const Writers> writers_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
