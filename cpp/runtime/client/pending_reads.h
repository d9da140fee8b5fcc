#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/base/ref_counted.h"

namespace remotecl {

class Event;

// Reads of one queue whose bytes are still on their way to this process. The bytes may travel apart from the reports
// about commands, so what comes after a read in its queue has not ended for the application before they are here. Any
// thread.
class PendingReads {
 public:
  using Ticket = std::uint64_t;

  PendingReads();
  ~PendingReads();

  Ticket begin();
  void end(Ticket ticket);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Holds the event back until every read that is pending now has ended.
  void hold(Event& event);

 private:
  struct Read {
    Ticket ticket;
    std::vector<Ref<Event>> held;
  };

  std::atomic<int> count_{0};
  std::mutex mutex_;
  Ticket last_ = 0;
  std::vector<Read> reads_;
};

}  // namespace remotecl
