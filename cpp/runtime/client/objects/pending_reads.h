#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl {

class Event;

// Reads of a queue, or of others that its commands wait for, whose bytes are still arriving in this process.
// The bytes may travel separately from reports about commands, so for the application a later command of the
// queue has not ended before they are here. Any thread.
class PendingReads {
 public:
  using Ticket = std::uint64_t;

  PendingReads();
  ~PendingReads();

  Ticket begin();
  void end(Ticket ticket);
  Ticket last();
  // No read up to this one is pending any more.
  bool ended_through(Ticket ticket);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Holds the event back until every read that is pending now has ended.
  void hold(Event& event);
  // The same for the reads of `tickets`, and for those before a barrier.
  void hold(Event& event, const std::vector<Ticket>& tickets);
  // Later commands come after these reads, or after all that are pending.
  void barrier(const std::vector<Ticket>& tickets);
  void barrier();

 private:
  struct Read {
    Ticket ticket;
    std::vector<Ref<Event>> held;
    bool before_barrier = false;
  };

  std::atomic<int> count_{0};
  Mutex mutex_;
  Ticket last_ GUARDED_BY(mutex_) = 0;
  std::vector<Read> reads_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
