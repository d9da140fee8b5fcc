#include "runtime/graph/event_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace remotecl {

bool EventGraph::expect(EventId id) {
  const bool added = events_.try_emplace(id).second;
  if (added) ++pending_;
  return added;
}

bool EventGraph::pending(EventId id) const {
  const Event* event = find(id);
  return event && event->ended_as == 0;
}

bool EventGraph::known(EventId id) const { return find(id) != nullptr; }

std::optional<std::int32_t> EventGraph::status(EventId id) const {
  const Event* event = find(id);
  if (!event || event->ended_as == 0) return std::nullopt;
  return event->status;
}

bool EventGraph::defer(std::span<const EventId> dependencies, Action&& action) {
  if (!any_pending(dependencies)) return false;
  store(dependencies, std::move(action));
  return true;
}

bool EventGraph::defer(std::span<const EventId> dependencies, const Action& action) {
  if (!any_pending(dependencies)) return false;
  store(dependencies, Action(action));
  return true;
}

std::int32_t EventGraph::failure(std::span<const EventId> dependencies) const {
  const Event* first = nullptr;
  for (EventId id : dependencies) {
    const Event* event = find(id);
    if (!event || event->ended_as == 0 || event->status == 0) continue;
    if (!first || event->ended_as < first->ended_as) first = event;
  }
  return first ? first->status : 0;
}

bool EventGraph::complete(EventId id, std::int32_t status, std::vector<Ready>& ready) {
  const auto found = events_.find(id);
  if (found == events_.end() || found->second.ended_as != 0) return false;

  Event& event = found->second;
  event.ended_as = ++ended_;
  event.status = std::min(status, 0);
  --pending_;
  // Moved out, so that the record of an ended event keeps no memory for waiters.
  const std::vector<DeferredRef> waiters = std::move(event.waiters);
  for (DeferredRef waiter : waiters) {
    if (waiter->status == 0) waiter->status = event.status;
    if (--waiter->waits_for != 0) continue;
    ready.push_back({std::move(waiter->action), waiter->status});
    deferred_.erase(waiter);
  }
  if (event.forgotten) events_.erase(found);
  return true;
}

void EventGraph::forget(EventId id) {
  const auto found = events_.find(id);
  if (found == events_.end()) return;
  if (found->second.ended_as == 0) {
    found->second.forgotten = true;
  } else {
    events_.erase(found);
  }
}

void EventGraph::fail_all(std::int32_t status, std::vector<Ready>& ready) {
  status = std::min(status, 0);
  ready.reserve(ready.size() + deferred_.size());
  for (Deferred& deferred : deferred_) ready.push_back({std::move(deferred.action), status});
  deferred_.clear();

  ++ended_;  // they end together with one status, so they need no order
  for (auto each = events_.begin(); each != events_.end();) {
    Event& event = each->second;
    if (event.ended_as == 0) {
      event.ended_as = ended_;
      event.status = status;
      event.waiters = {};
    }
    each = event.forgotten ? events_.erase(each) : std::next(each);
  }
  pending_ = 0;
}

const EventGraph::Event* EventGraph::find(EventId id) const {
  const auto found = events_.find(id);
  return found == events_.end() ? nullptr : &found->second;
}

bool EventGraph::any_pending(std::span<const EventId> dependencies) const {
  return std::ranges::any_of(dependencies, [this](EventId id) { return pending(id); });
}

void EventGraph::store(std::span<const EventId> dependencies, Action&& action) {
  deferred_.push_back({std::move(action), 0, failure(dependencies)});
  const DeferredRef self = std::prev(deferred_.end());
  for (EventId id : dependencies) {
    const auto found = events_.find(id);
    if (found == events_.end() || found->second.ended_as != 0) continue;
    std::vector<DeferredRef>& waiters = found->second.waiters;
    // A repeated id finds this action as the last waiter, since nothing else was added meanwhile.
    if (!waiters.empty() && waiters.back() == self) continue;
    waiters.push_back(self);
    ++self->waits_for;
  }
}

}  // namespace remotecl
