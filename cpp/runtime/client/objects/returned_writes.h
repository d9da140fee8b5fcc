#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl {

class CommandQueue;
class Event;

// Blocking writes that return to the application before they end. For the application they have ended, and with them
// everything before them in their in-order queue, so commands of the device's other queues must come after them. One
// for each context. Any thread.
class ReturnedWrites {
 public:
  // The state that a queue reads without a lock.
  struct OfQueue {
    std::atomic<std::uint64_t> last{0};       // the last such write's position in the queue; 0: none
    std::atomic<bool> has_neighbours{false};  // the application has had other queues on the device
    std::atomic<bool> has_before{false};      // before() would return something
  };

  ReturnedWrites();
  ~ReturnedWrites();

  // The application may enqueue on this queue from now on.
  void made(CommandQueue& queue) EXCLUDES(mutex_);
  // It has released the queue.
  void released(CommandQueue& queue) EXCLUDES(mutex_);
  // The queue is being destroyed.
  void gone(const CommandQueue& queue) EXCLUDES(mutex_);

  // A blocking write of this in-order queue returns before its end.
  void returned(CommandQueue& queue) EXCLUDES(mutex_);
  // The markers behind such writes that the next command of this queue has to wait for. They succeed even if the writes
  // fail, as the failure of a write harms no command of another queue.
  std::vector<Ref<Event>> before(const CommandQueue& queue) EXCLUDES(mutex_);
  // A command that waits for `before` has been sent.
  void ordered(const CommandQueue& queue, std::vector<Ref<Event>>& before) EXCLUDES(mutex_);

 private:
  struct Entry {
    CommandQueue* queue;
    std::vector<Ref<Event>> before;  // one for each other queue
  };

  // Whether the queue's last returned write is known to have ended, and so everything before it.
  static bool has_ended(CommandQueue& queue);
  // Returns null if the write has ended.
  static Ref<Event> mark(CommandQueue& queue);
  Entry* find(const CommandQueue& queue) REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Entry> queues_ GUARDED_BY(mutex_);
  std::vector<Ref<Event>> after_released_ GUARDED_BY(mutex_);  // markers of queues that the application has released
};

}  // namespace remotecl
