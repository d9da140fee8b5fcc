#include "runtime/client/objects/returned_writes.h"

#include <algorithm>
#include <utility>

#include "runtime/client/objects/event.h"

namespace remotecl {
namespace {

// An in-order queue's newer event ends after its older ones. Returns the event that is no longer needed, to be
// released without a lock: an event may be all that keeps its queue alive.
Ref<Event> replace(std::vector<Ref<Event>>& events, const Ref<Event>& newest) {
  for (Ref<Event>& event : events) {
    if (event->queue() == newest->queue()) return std::exchange(event, newest);
  }
  events.push_back(newest);
  return nullptr;
}

}  // namespace

ReturnedWrites::ReturnedWrites() = default;
ReturnedWrites::~ReturnedWrites() = default;

bool ReturnedWrites::has_ended(CommandQueue& queue) {
  return queue.returned_writes().last.load() <= queue.ended_sequence();
}

Ref<Event> ReturnedWrites::mark(CommandQueue& queue) {
  if (has_ended(queue) || queue.session().lost()) return nullptr;
  auto marker = make_ref<Event>(queue, CL_COMMAND_MARKER, true, true);
  queue.session().append(EnqueueMarker{queue.id(), marker->id(), 0, 1, {}});
  return marker;
}

ReturnedWrites::Entry* ReturnedWrites::find(const CommandQueue& queue) {
  const auto at =
      std::find_if(queues_.begin(), queues_.end(), [&](const Entry& entry) { return entry.queue == &queue; });
  return at == queues_.end() ? nullptr : &*at;
}

void ReturnedWrites::made(CommandQueue& queue) {
  std::vector<Ref<Event>> before;
  const MutexLock lock(mutex_);
  for (const Entry& entry : queues_) {
    if (entry.queue->location() != queue.location()) continue;
    entry.queue->returned_writes().has_neighbours.store(true);
    queue.returned_writes().has_neighbours.store(true);
    if (Ref<Event> marker = mark(*entry.queue)) before.push_back(std::move(marker));
  }
  for (const Ref<Event>& marker : after_released_) {
    if (marker->queue()->location() == queue.location()) before.push_back(marker);
  }
  queue.returned_writes().has_before.store(!before.empty());
  queues_.push_back({&queue, std::move(before)});
}

void ReturnedWrites::gone(const CommandQueue& queue) {
  std::vector<Ref<Event>> unneeded;
  const MutexLock lock(mutex_);
  if (Entry* const entry = find(queue)) unneeded.swap(entry->before);
  std::erase_if(queues_, [&](const Entry& other) { return other.queue == &queue; });
}

void ReturnedWrites::released(CommandQueue& queue) {
  gone(queue);
  const Ref<Event> marker = mark(queue);
  if (!marker) return;
  {
    const MutexLock lock(mutex_);
    after_released_.push_back(marker);
  }
  // Queues that the application makes later come after the writes, too. The marker keeps this queue, and so the
  // context, until it has ended.
  const auto end = [this, event = marker.get()] {
    Ref<Event> unneeded;
    const MutexLock lock(mutex_);
    const auto at = std::find_if(after_released_.begin(), after_released_.end(),
                                 [=](const Ref<Event>& other) { return other.get() == event; });
    unneeded = std::exchange(*at, after_released_.back());
    after_released_.pop_back();
  };
  if (!marker->at_end(end)) end();
}

void ReturnedWrites::returned(CommandQueue& queue) {
  OfQueue& own = queue.returned_writes();
  CommandQueue::raise(own.last, queue.last_sequence());
  if (!own.has_neighbours.load()) return;
  std::vector<Ref<Event>> unneeded;
  const MutexLock lock(mutex_);  // also so that the marker of another thread's earlier write does not replace this one
  const Ref<Event> end = mark(queue);
  if (!end) return;
  for (Entry& other : queues_) {
    if (other.queue == &queue || other.queue->location() != queue.location()) continue;
    unneeded.push_back(replace(other.before, end));
    other.queue->returned_writes().has_before.store(true);
  }
}

std::vector<Ref<Event>> ReturnedWrites::before(const CommandQueue& queue) {
  const MutexLock lock(mutex_);
  const Entry* const entry = find(queue);
  return entry == nullptr ? std::vector<Ref<Event>>() : entry->before;
}

void ReturnedWrites::ordered(const CommandQueue& queue, std::vector<Ref<Event>>& before) {
  const MutexLock lock(mutex_);
  Entry* const entry = find(queue);
  if (entry == nullptr) return;
  // Commands of an out-of-order queue do not come after this one.
  std::erase_if(entry->before, [&](const Ref<Event>& event) {
    return std::find(before.begin(), before.end(), event) != before.end() &&
           (queue.in_order() || has_ended(*event->queue()));
  });
  entry->queue->returned_writes().has_before.store(!entry->before.empty());
}

}  // namespace remotecl
