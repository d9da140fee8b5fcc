#pragma once

#include <vector>

#include "server/driver/device_turns.h"
#include "server/execution/event_table.h"
#include "server/execution/strand.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Holds commands back while the session waits for its turn on a shared device. Messages are still read meanwhile,
// so that a client's questions and its commands for other devices need not wait for the turn. A closed gate is an
// event of the graph, which commands wait for. Owned by a session.
class TurnGates {
 public:
  TurnGates(Strand& strand, EventTable& events) : strand_(strand), events_(events) {}
  TurnGates(const TurnGates&) = delete;
  TurnGates& operator=(const TurnGates&) = delete;

  bool all_open() const REQUIRES(session_lock) { return closed_.empty(); }
  // The event that commands of this turn must wait for; 0 if the gate is open, or if it can be opened now.
  EventId event_of(DeviceTurn& turn) REQUIRES(session_lock);
  // Closes the gate until the session's turn comes.
  void close(DeviceTurn& turn) REQUIRES(session_lock);
  // The session's turn has come.
  void open(const DeviceTurn& turn) REQUIRES(session_lock);
  // A turn whose gate is closed. REQUIRES: !all_open().
  Ref<DeviceTurn> awaited() const REQUIRES(session_lock) { return closed_.front().turn; }

  // The session ends.
  void clear() REQUIRES(session_lock) { closed_.clear(); }

 private:
  struct Closed {
    Ref<DeviceTurn> turn;
    EventId event;
  };

  std::vector<Closed>::const_iterator find(const DeviceTurn& turn) const REQUIRES(session_lock);

  Strand& strand_;
  EventTable& events_;
  std::vector<Closed> closed_ GUARDED_BY(session_lock);  // at most one for each device
};

}  // namespace remotecl::server
