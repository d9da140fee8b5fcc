#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace remotecl {

using EventId = std::uint64_t;  // chosen by clients, never 0, never reused

// Holds commands that cannot be handed to the native driver yet, because they depend on something that the
// driver cannot wait for: another device, another server, or bulk data that is still arriving.
//
// Owned by one server session. Not synchronised: every call, even a const one, needs the session's lock.
//
// Statuses are OpenCL's: 0 (CL_COMPLETE) or a negative error code. A positive status is not an end, and
// counts as 0.
class EventGraph {
 public:
  // Called with 0, or with the error of the dependency that failed first.
  using Action = std::function<void(std::int32_t status)>;

  struct Ready {
    Action action;
    std::int32_t status;
  };

  EventGraph() = default;
  EventGraph(const EventGraph&) = delete;
  EventGraph& operator=(const EventGraph&) = delete;

  // Announces an event whose end complete() will report. Returns false if the id exists already.
  bool expect(EventId id);

  // Whether `id` was expected and has not ended.
  bool pending(EventId id) const;

  // Whether `id` is pending, or has ended and was not forgotten.
  bool known(EventId id) const;

  // Empty while `id` is pending or unknown.
  std::optional<std::int32_t> status(EventId id) const;

  // Stores `action` until no event of `dependencies` is pending, and returns true. If none is pending now,
  // returns false, allocates nothing and leaves `action` unchanged: the caller runs it, with failure().
  // Unknown ids count as satisfied, and an id may occur several times. A stored action waits for all its
  // dependencies even after one has failed, and gets the failure that happened first.
  bool defer(std::span<const EventId> dependencies, Action&& action);
  bool defer(std::span<const EventId> dependencies, const Action& action);

  // The status of the dependency that failed first, by order of completion; 0 if none has failed.
  std::int32_t failure(std::span<const EventId> dependencies) const;

  // Ends `id`, and appends the actions that no longer wait for anything to `ready`, in the order in which
  // they were deferred. Returns false if `id` is unknown or has already ended. Runs nothing: the caller runs
  // the actions, so a chain of any length needs no stack.
  bool complete(EventId id, std::int32_t status, std::vector<Ready>& ready);

  // Drops the record of an ended event, which is then unknown and holds nothing back. A pending event stays
  // for its dependents, and is dropped when it ends.
  void forget(EventId id);

  // For the end of a session: ends every pending event with `status`, and makes every stored action ready
  // with it, even if a dependency had failed before. The actions are in the order in which they were
  // deferred.
  void fail_all(std::int32_t status, std::vector<Ready>& ready);

  std::size_t pending_events() const { return pending_; }
  std::size_t deferred_actions() const { return deferred_.size(); }

 private:
  struct Deferred {
    Action action;
    std::size_t waits_for = 0;  // pending events that list this action as a waiter
    std::int32_t status = 0;
  };
  using DeferredRef = std::list<Deferred>::iterator;

  struct Event {
    std::uint64_t ended_as = 0;  // position in the order of completion, from 1; 0 while pending
    std::int32_t status = 0;
    bool forgotten = false;
    std::vector<DeferredRef> waiters;  // in the order in which they were deferred
  };
  using Events = std::unordered_map<EventId, Event>;

  const Event* find(EventId id) const;
  bool any_pending(std::span<const EventId> dependencies) const;
  void store(std::span<const EventId> dependencies, Action&& action);

  Events events_;
  std::list<Deferred> deferred_;  // in the order in which they were deferred
  std::size_t pending_ = 0;
  std::uint64_t ended_ = 0;  // how many events have ended so far
};

}  // namespace remotecl
