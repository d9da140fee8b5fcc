#pragma once

#include <functional>
#include <vector>

#include "runtime/client/objects/event.h"
#include "runtime/client/objects/memory_mutex.h"

namespace remotecl {

// Infers the end of commands from the end of others that waited for them, because servers report an end only
// on request. Belongs to one context. Keeps queues and their context alive.
class CommandOrder {
 public:
  // The command of `queue` at `sequence`, whose event may be null, waits for `event`.
  void add(CommandQueue& queue, std::uint64_t sequence, Event* own, Event& event) REQUIRES(kMemoryMutex);
  // The command waits for all earlier commands of its queue, which is out of order.
  void add_all_before(CommandQueue& queue, std::uint64_t sequence, Event* own) REQUIRES(kMemoryMutex);
  // Evaluates what is known by now: calls has_ended(queue, first, last) for commands that have ended. Nothing
  // follows from a waiter that has failed, because it may not have waited for all of them.
  void learn(const std::function<void(CommandQueue&, std::uint64_t first, std::uint64_t last)>& has_ended)
      REQUIRES(kMemoryMutex);

 private:
  struct Wait {
    Ref<CommandQueue> waiter_queue;
    std::uint64_t waiter_sequence;
    Ref<Event> waiter;  // may be null
    Ref<CommandQueue> queue;
    std::uint64_t first, last;  // the range of commands waited for
    EventId event;              // 0: several commands

    bool waiter_has_failed() const { return waiter ? waiter->status() < 0 : waiter_queue->has_failed(); }
  };
  struct Known;
  void push(Wait wait) REQUIRES(kMemoryMutex);

  std::vector<Wait> waits_ GUARDED_BY(kMemoryMutex);
};

}  // namespace remotecl
