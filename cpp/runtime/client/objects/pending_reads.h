#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl {

class Event;

// Reads of a queue, or of others that its commands wait for, whose bytes are still arriving in this process, and its
// writes whose bytes are still in the application's memory. The bytes may travel separately from reports about
// commands, so for the application a later command of the queue has not ended before they are here, or have left. An
// event that waits for many reads has one hold, and moves from the last of them to the one before it when that has
// ended. Any thread.
class PendingReads {
 public:
  using Ticket = std::uint64_t;

  PendingReads();
  ~PendingReads();

  Ticket begin();
  void end(Ticket ticket);
  Ticket last();
  // No read up to this one is pending any more; or none of these.
  bool ended_through(Ticket ticket);
  bool have_ended(const std::vector<Ticket>& tickets);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Holds the event back until every read that is pending now has ended.
  void hold(Event& event);
  // The same for the reads of `tickets`, and for those before a barrier.
  void hold(Event& event, const std::vector<Ticket>& tickets);
  // The reads for which that would hold an event.
  std::vector<Ticket> awaited(std::vector<Ticket> tickets);
  // Later commands come after these reads, or after all that are pending.
  void barrier(const std::vector<Ticket>& tickets);
  void barrier();

 private:
  // Events that wait for it and all before it in a map.
  struct Place {
    std::list<Ref<Event>> waiting;
  };
  struct Read : Place {
    std::list<Ref<Event>> held;        // wait for it alone
    std::uint64_t before_barrier = 0;  // its position among the reads before barriers; 0: it is not before any
  };

  static void wait_for_all(Event& event, Place& last);
  // Moves the waiting events to the place before it, or to `released`.
  template <class Places>
  static void leave(Places& places, typename Places::iterator place, std::list<Ref<Event>>& released);
  void put_before_barrier(Read& read) REQUIRES(mutex_);

  std::atomic<int> count_{0};
  Mutex mutex_;
  Ticket last_ GUARDED_BY(mutex_) = 0;
  Ticket last_before_barrier_ GUARDED_BY(mutex_) = 0;  // so are all up to this one
  std::uint64_t barrier_position_ GUARDED_BY(mutex_) = 0;
  std::map<Ticket, Read> reads_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Place> before_barriers_ GUARDED_BY(mutex_);  // the reads that are, by their positions
};

}  // namespace remotecl
