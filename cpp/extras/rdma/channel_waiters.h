#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "extras/rdma/wakeup.h"
#include "runtime/base/mutex.h"

namespace remotecl {

// The threads that wait for something to happen to a channel, and the descriptor for poll(). One thread sleeps on the
// channel's descriptors, the others until that one has seen something. The channel's mutex guards it; functions that
// wait are given that mutex, and release it meanwhile.
class ChannelWaiters {
 public:
  // `completions` and `connection`: readable if there is an event of the queue pair, or of the connection manager.
  ChannelWaiters(int completions, int connection);
  ~ChannelWaiters();
  ChannelWaiters(const ChannelWaiters&) = delete;
  ChannelWaiters& operator=(const ChannelWaiters&) = delete;

  // How many things have happened so far.
  std::uint64_t events() const { return events_; }
  void note_events(std::uint64_t count) { events_ += count; }

  struct Readable {
    bool completions = false;
    bool connection = false;
    bool is_quiet = false;  // neither, and nobody has woken the thread
  };
  bool has_sleeper() const { return is_sleeping_; }
  // Sleeps on the descriptors, but not for longer than this.
  Readable sleep(Mutex& mutex, std::chrono::milliseconds time) REQUIRES(mutex);
  // Another thread sleeps on the descriptors: waits until that one has seen something.
  void wait(Mutex& mutex) REQUIRES(mutex) { changed_.wait(mutex); }
  // Makes waiting threads look again. If none of them sleeps on the descriptors then, one begins to.
  void wake_all() { changed_.notify_all(); }
  // Something has happened that the sleeping thread has not seen.
  void wake_sleeper();

  // ---- For poll(): readable if a descriptor is, or from set_ready() to begin_polling().
  int handle() const { return poll_handle_; }
  // Both return true if they have made a system call.
  bool set_ready();
  bool begin_polling();
  bool is_polled() const { return is_polled_; }
  void set_polled(bool is_polled) { is_polled_ = is_polled; }
  // Whether nothing has happened since begin_polling(), twice in a row. Once is no reason to look further, because
  // threads that poll wait for other descriptors, too.
  bool is_poll_unexplained() const { return polled_at_ == events_ && polls_in_vain_ != 0; }

 private:
  const int completions_;
  const int connection_;
  Wakeup kick_;   // wakes the thread that sleeps on the descriptors
  Wakeup ready_;  // wakes threads that poll handle()
  const int poll_handle_;
  ConditionVariable changed_;
  std::uint64_t events_ = 0;
  std::uint64_t polled_at_ = 0;  // events_ when handle() was last polled
  unsigned polls_in_vain_ = 0;   // in a row, before the present one
  bool is_sleeping_ = false;     // a thread, on the descriptors
  bool is_polled_ = false;       // handle(), by whoever was told that nothing has arrived
  bool is_ready_ = false;        // ready_ is set
};

}  // namespace remotecl
