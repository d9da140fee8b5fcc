#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/client/session/session_connection.h"
#include "runtime/client/support/wait_limit.h"

namespace remotecl {

// Who reads a session's connections: one thread at a time, whoever waits, so that a blocking call costs no hand-off. A
// background thread reads when nobody waits and something may arrive. Owned by the session; any thread.
class InboxReader {
 public:
  // What it reads for.
  class Owner {
   public:
    // Takes what has arrived on the control connection. False: it has ended.
    virtual bool read_control() = 0;
    virtual void lose(const std::string& reason) = 0;
    // The background thread's last act, after the loss: nobody reads any more.
    virtual void release() = 0;

   protected:
    ~Owner() = default;
  };

  InboxReader(SessionConnection& connection, const LossState& loss, Owner& owner)
      : connection_(connection), loss_(loss), owner_(owner) {}
  ~InboxReader();
  InboxReader(const InboxReader&) = delete;
  InboxReader& operator=(const InboxReader&) = delete;

  // Once, before anything else: starts the background thread, which ends when the session is lost.
  void start();
  // Waits for its end.
  void join() { background_thread_.join(); }
  // The same if it is about to end. One thread at a time.
  void reap();

  // Blocks until done() is true, the session is lost, or it is too late; false when it was not true before. `done` is
  // called with the reader's mutex held, after each batch of received messages.
  bool wait(const std::function<bool()>& done, const OptionalDeadline& deadline) EXCLUDES(mutex_);
  // Has those who wait look again: what they wait for may have been done elsewhere.
  void wake() EXCLUDES(mutex_);
  // Takes in what has already arrived, without blocking.
  void poll() EXCLUDES(mutex_);
  // Something may arrive that nobody waits for: keeps the background thread reading.
  void add_interest() EXCLUDES(mutex_);
  void drop_interest() { interest_.fetch_sub(1); }
  // The session is lost: nobody waits any more.
  void end_waits() EXCLUDES(mutex_);

  // Has the thread that reads look anew at what it waits for.
  void stop_polling() EXCLUDES(wake_mutex_);
  bool is_reading() const;  // this thread
  // What a channel's own thread does.
  bool read_apart(BulkChannel& channel);

 private:
  enum class Pump { kTake, kSleep, kBusy };

  void run() EXCLUDES(mutex_);
  void read_until_lost() EXCLUDES(mutex_);
  // Reads and handles what is there. Waits for it, for stop_polling() or for the deadline first: not, asleep, or
  // looking for a while.
  void pump(Pump how, const OptionalDeadline& deadline = {});
  void lose_bulk(const BulkChannel& channel);
  int wake_handle() EXCLUDES(wake_mutex_);
  void close_wake() EXCLUDES(wake_mutex_);

  SessionConnection& connection_;
  const LossState& loss_;
  Owner& owner_;

  // The reader's role: handed over under this mutex.
  Mutex mutex_;
  ConditionVariable changed_;
  ConditionVariable background_wanted_;
  bool reading_ GUARDED_BY(mutex_) = false;
  bool background_reads_ GUARDED_BY(mutex_) = false;
  int waiters_ GUARDED_BY(mutex_) = 0;
  // How often a thread has waited: tells the background thread that it is not needed yet.
  std::uint64_t waits_ GUARDED_BY(mutex_) = 0;
  std::atomic<int> interest_{0};
  Mutex wake_mutex_;
  // An eventfd that takes the thread that reads out of poll; -1: nobody will read any more.
  int wake_ GUARDED_BY(wake_mutex_) = -1;

  std::thread background_thread_;
  std::atomic<bool> is_over_{false};  // all of that thread but its end
};

}  // namespace remotecl
