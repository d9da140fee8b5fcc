#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/client/session/session_connection.h"
#include "runtime/client/support/wait_limit.h"

namespace remotecl {

class BackgroundReader;

// Reads a session's connections, on one thread at a time. A waiting thread reads by itself, so that a
// blocking call costs no hand-off. A BackgroundReader reads while no thread waits.
// Owned by the session; any thread.
class InboxReader {
 public:
  // The session that it reads for.
  class Owner {
   public:
    // Reads what has arrived on the control connection. Returns false if the connection has ended.
    virtual bool read_control() = 0;
    virtual void lose(const std::string& reason) = 0;
    // After the loss, on a thread of its own: reading has ended for good.
    virtual void release() = 0;

   protected:
    ~Owner() = default;
  };

  InboxReader(SessionConnection& connection, const LossState& loss, Owner& owner)
      : connection_(connection), loss_(loss), owner_(owner) {}
  ~InboxReader();
  InboxReader(const InboxReader&) = delete;
  InboxReader& operator=(const InboxReader&) = delete;

  // Call it once, before anything else. Reading in the background begins, and ends when the session is lost.
  void start();
  // Waits until the lost session has been released.
  void join() EXCLUDES(mutex_);
  // The same, if it is about to be. One thread at a time.
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

  // The task of the background, which its thread asks for before each poll. kReads: poll what has been added to
  // `polled`, and call read_now() if something is there. kPauses: threads of the program read; ask again at
  // `next` at the latest, which this makes earlier if need be. kOver: call begin_end().
  enum class Standing { kReads, kPauses, kOver };
  using Time = std::chrono::steady_clock::time_point;
  Standing stand_by(Time now, std::vector<pollfd>& polled, Time& next) EXCLUDES(mutex_);
  // Reads what has arrived, unless another thread does.
  void read_now() EXCLUDES(mutex_);
  // The last call of the background.
  void begin_end() EXCLUDES(mutex_);

 private:
  enum class Pump { kTake, kBusy };

  void end() EXCLUDES(wake_mutex_);
  // The background must not poll what this thread is about to read.
  void take_turn() REQUIRES(mutex_);
  void interrupt() EXCLUDES(wake_mutex_);
  // Reads and handles what has arrived. Waits for data, stop_polling() or the deadline first: not at all
  // (kTake), or busily for a while before sleeping (kBusy).
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
  bool reading_ GUARDED_BY(mutex_) = false;
  int waiters_ GUARDED_BY(mutex_) = 0;
  // Counts waits, from which the background learns that it is not needed yet: how many it has seen, and until
  // when it pauses.
  std::uint64_t waits_ GUARDED_BY(mutex_) = 0;
  std::uint64_t waits_seen_ GUARDED_BY(mutex_) = 0;
  Time pauses_until_ GUARDED_BY(mutex_){};
  std::atomic<int> interest_{0};
  Mutex wake_mutex_;
  // An eventfd that interrupts the reading thread's poll; -1: reading has ended for good.
  int wake_ GUARDED_BY(wake_mutex_) = -1;

  BackgroundReader* background_ = nullptr;     // constant after start()
  std::atomic<bool> is_in_background_{false};  // the background polls the connections
  std::thread end_ GUARDED_BY(mutex_);         // releases the lost session
  bool has_begun_end_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_over_{false};  // that has been done
};

}  // namespace remotecl
