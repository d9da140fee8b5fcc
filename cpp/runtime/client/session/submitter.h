#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl {

class ControlWriter;

// Sends messages batched in control writers while the threads that have appended them compute or sleep. One
// thread for all of them, which sleeps until a timer expires. It never waits for a socket, so a server that
// does not read delays no other. Must outlive its writers. Any thread.
class Submitter {
 public:
  Submitter() = default;
  ~Submitter();
  Submitter(const Submitter&) = delete;
  Submitter& operator=(const Submitter&) = delete;

  // Called by each writer that is made: the first one starts the thread, so that a process without servers has none.
  // Throws std::system_error.
  void start() EXCLUDES(mutex_);
  void add(const std::shared_ptr<ControlWriter>& writer) EXCLUDES(mutex_);
  // Afterwards the Submitter's thread no longer uses the writer.
  void remove(const ControlWriter& writer) EXCLUDES(mutex_, pass_mutex_);

  // A thread is about to wait: sends what is batched in all writers, as far as their sockets take it.
  void submit_all();
  // The thread sends what is batched in the writers at this time or earlier; in ns of now_ns().
  void wake_by(std::int64_t time_ns);

  // The delay for messages that can wait a little. Setting a timer costs a few hundred ns on a real processor
  // and up to 20 us on a virtual one; the delay keeps that at 1 % of the time.
  std::chrono::microseconds cheap_delay() const { return cheap_delay_; }

  // A writer has got something to send, or has nothing left.
  void writer_filled() { filled_.fetch_add(1); }
  void writer_emptied() { filled_.fetch_sub(1); }

  static std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

 private:
  static constexpr std::chrono::microseconds kCheapDelayMin{40}, kCheapDelayMax{2000};

  using Writers = std::vector<std::shared_ptr<ControlWriter>>;

  void run();
  void set_timer(std::int64_t time_ns) const;
  std::chrono::microseconds measure_cheap_delay() const;
  std::shared_ptr<const Writers> writers() EXCLUDES(mutex_);

  int timer_ = -1;                            // constant after start()
  std::chrono::microseconds cheap_delay_{0};  // likewise
  std::atomic<std::int64_t> due_ns_{0};       // when the timer expires; 0: it is off
  std::atomic<int> filled_{0};
  Mutex pass_mutex_;  // held by the thread while it goes through the writers, none of which blocks
  Mutex mutex_;
  std::shared_ptr<const Writers> writers_ GUARDED_BY(mutex_) = std::make_shared<const Writers>();
  std::atomic<bool> is_ending_{false};
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
