#include "runtime/client/placement/queue_tasks.h"

namespace remotecl {

void QueueTasks::add(const CommandQueue& queue, std::uint64_t sequence, Event* event, schedule::Ticket ticket) {
  tasks_.push_back({&queue, sequence, Ref<Event>(queue.in_order() ? nullptr : event), ticket});
}

}  // namespace remotecl
