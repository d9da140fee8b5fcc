#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "extras/scheduling/schedule/device_queue.h"

namespace remotecl::schedule {

struct TaskInFlight {
  KernelId kernel = 0;
  DeviceId device = kNoDevice;
  double size = 0;
  Seconds expected = 0;  // as far as known now
  Seconds trial = 0;     // what Exploration has counted; 0: the device had run the kernel before
  Seconds moves = 0;     // of that, transfers
  DeviceQueue::Position position = 0;
  Time placed = 0;
  bool has_passed = false;  // it has ended; its times are to follow
};

// The tasks that were placed and have not ended. A slot is used again with another generation, so that the ticket of a
// task that has ended finds nothing.
class TasksInFlight {
 public:
  explicit TasksInFlight(std::size_t expected);

  Ticket add(const TaskInFlight& task);
  // Null if it has ended. Valid until the next add().
  const TaskInFlight* find(Ticket ticket) const;
  TaskInFlight* find(Ticket ticket) { return const_cast<TaskInFlight*>(std::as_const(*this).find(ticket)); }
  void remove(Ticket ticket);
  // Calls f(task) for each.
  template <class F>
  void for_each(F&& f) {
    for (Slot& slot : slots_) {
      if (slot.used) f(slot.task);
    }
  }
  std::size_t size() const { return slots_.size() - free_.size(); }

 private:
  struct Slot {
    std::uint32_t generation = 1;
    bool used = false;
    TaskInFlight task;
  };

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace remotecl::schedule
