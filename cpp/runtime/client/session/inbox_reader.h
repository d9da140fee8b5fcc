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

// Reads a session's connections, on one thread at a time. A waiting thread reads by itself, so that a
// blocking call costs no hand-off. A background thread reads while no thread waits and something may arrive.
// Owned by the session; any thread.
class InboxReader {
 public:
  // The session that it reads for.
  class Owner {
   public:
    // Reads what has arrived on the control connection. Returns false if the connection has ended.
    virtual bool read_control() = 0;
    virtual void lose(const std::string& reason) = 0;
    // The background thread's last call, after the loss: reading has ended for good.
    virtual void release() = 0;

   protected:
    ~Owner() = default;
  };

  InboxReader(SessionConnection& connection, const LossState& loss, Owner& owner)
      : connection_(connection), loss_(loss), owner_(owner) {}
  ~InboxReader();
  InboxReader(const InboxReader&) = delete;
  InboxReader& operator=(const InboxReader&) = delete;

  // Call it once, before anything else. Starts the background thread, which ends when the session is lost.
  void start();
  // Waits for the background thread to end.
  void join() { background_thread_.join(); }
  // The same, if that thread is about to end. One thread at a time.
  void reap();

  // Blocks until done() is true, the session is lost, or the deadline has passed. Returns false if done()
  // never became true. `done` is called with the reader's mutex held, after each batch of received messages.
  bool wait(const std::function<bool()>& done, const OptionalDeadline& deadline) EXCLUDES(mutex_);
  // Makes waiting threads check their conditions again, because another thread may have fulfilled them.
  void wake() EXCLUDES(mutex_);
  // Reads what has already arrived, without blocking.
  void poll() EXCLUDES(mutex_);
  // Something may arrive for which no thread waits: keeps the background thread reading.
  void add_interest() EXCLUDES(mutex_);
  void drop_interest() { interest_.fetch_sub(1); }
  // The session is lost: ends all waits.
  void end_waits() EXCLUDES(mutex_);

  // Makes the reading thread determine anew what it polls.
  void stop_polling() EXCLUDES(wake_mutex_);
  bool is_reading() const;  // whether the calling thread reads
  // Reads a channel on the channel's own thread.
  bool read_apart(BulkChannel& channel);

 private:
  enum class Pump { kTake, kSleep, kBusy };

  void run() EXCLUDES(mutex_);
  void read_until_lost() EXCLUDES(mutex_);
  // Reads and handles what has arrived. Waits for data, stop_polling() or the deadline first: not at all
  // (kTake), asleep (kSleep), or busily for a while before sleeping (kBusy).
  void pump(Pump how, const OptionalDeadline& deadline = {});
  void lose_bulk(const BulkChannel& channel);
  int wake_handle() EXCLUDES(wake_mutex_);
  void close_wake() EXCLUDES(wake_mutex_);

  SessionConnection& connection_;
  const LossState& loss_;
  Owner& owner_;

  // The reader's role, which is handed over under this mutex.
  Mutex mutex_;
  ConditionVariable changed_;
  ConditionVariable background_wanted_;
  bool reading_ GUARDED_BY(mutex_) = false;
  bool background_reads_ GUARDED_BY(mutex_) = false;
  int waiters_ GUARDED_BY(mutex_) = 0;
  // Counts waits, from which the background thread learns that it is not needed yet.
  std::uint64_t waits_ GUARDED_BY(mutex_) = 0;
  std::atomic<int> interest_{0};
  Mutex wake_mutex_;
  // An eventfd that interrupts the reading thread's poll; -1: reading has ended for good.
  int wake_ GUARDED_BY(wake_mutex_) = -1;

  std::thread background_thread_;
  std::atomic<bool> is_over_{false};  // that thread has done everything but return
};

}  // namespace remotecl
