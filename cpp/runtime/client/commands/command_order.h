#pragma once

#include <functional>
#include <vector>

#include "runtime/client/objects/event.h"

namespace remotecl {

// Which commands have to have ended because others have, which waited for them: servers tell of an end only where it is
// asked for. Of one context, whose memory_mutex it requires; it keeps queues and their context alive.
class CommandOrder {
 public:
  // The command of `queue` at `sequence`, whose event may be null, waits for `event`.
  void add(CommandQueue& queue, std::uint64_t sequence, Event* own, Event& event);
  // It waits for all commands of its queue, which is out of order, before it.
  void add_all_before(CommandQueue& queue, std::uint64_t sequence, Event* own);
  // Takes in what has become known: calls has_ended(queue, first, last) for commands that have ended. A waiter that has
  // failed tells nothing: it may not have waited for all of them.
  void learn(const std::function<void(CommandQueue&, std::uint64_t first, std::uint64_t last)>& has_ended);

 private:
  struct Wait {
    Ref<CommandQueue> waiter_queue;
    std::uint64_t waiter_sequence;
    Ref<Event> waiter;  // may be null
    Ref<CommandQueue> queue;
    std::uint64_t first, last;  // of its commands
    EventId event;              // 0: of several

    bool waiter_has_failed() const { return waiter ? waiter->status() < 0 : waiter_queue->has_failed(); }
  };
  struct Known;
  void push(Wait wait);

  std::vector<Wait> waits_;
};

}  // namespace remotecl
