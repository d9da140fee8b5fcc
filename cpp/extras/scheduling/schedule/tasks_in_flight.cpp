#include "extras/scheduling/schedule/tasks_in_flight.h"

namespace remotecl::schedule {

TasksInFlight::TasksInFlight(std::size_t expected) {
  slots_.reserve(expected);
  free_.reserve(expected);
}

Ticket TasksInFlight::add(const TaskInFlight& task) {
  if (free_.empty()) {
    slots_.emplace_back();
    free_.reserve(slots_.capacity());  // so that remove() allocates nothing
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.used = true;
  slot.task = task;
  return static_cast<Ticket>(slot.generation) << 32 | index;
}

const TaskInFlight* TasksInFlight::find(Ticket ticket) const {
  const auto index = static_cast<std::uint32_t>(ticket);
  if (index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[index];
  return slot.used && slot.generation == ticket >> 32 ? &slot.task : nullptr;
}

void TasksInFlight::remove(Ticket ticket) {
  if (!find(ticket)) return;
  Slot& slot = slots_[static_cast<std::uint32_t>(ticket)];
  slot.used = false;
  if (++slot.generation == 0) slot.generation = 1;
  free_.push_back(static_cast<std::uint32_t>(ticket));
}

}  // namespace remotecl::schedule
