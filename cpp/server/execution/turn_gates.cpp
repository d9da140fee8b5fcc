#include "server/execution/turn_gates.h"

#include <algorithm>

namespace remotecl::server {

EventId TurnGates::event_of(DeviceTurn& turn) {
  const auto gate = find(turn);
  if (gate == closed_.end()) return 0;
  if (!turn.ask()) return gate->event;
  open(turn);
  return 0;
}

void TurnGates::close(DeviceTurn& turn) {
  if (find(turn) != closed_.end()) return;
  const EventId event = events_.begin_internal();
  closed_.push_back({Ref<DeviceTurn>(&turn), event});
  // A thread of another session reports the turn, so the rest is left to a thread of this one.
  const auto granted = [this, strand = Ref<Strand>(&strand_), turn = Ref<DeviceTurn>(&turn), event] {
    strand->post([this, turn, event]() REQUIRES(session_lock) {
      const auto gate = find(*turn);
      const bool is_still_closed = gate != closed_.end() && gate->event == event;
      if (is_still_closed) open(*turn);
    });
  };
  if (!turn.when_granted(granted)) open(turn);
}

std::vector<TurnGates::Closed>::const_iterator TurnGates::find(const DeviceTurn& turn) const {
  return std::ranges::find_if(closed_, [&turn](const Closed& closed) { return closed.turn.get() == &turn; });
}

void TurnGates::open(const DeviceTurn& turn) {
  const auto gate = find(turn);
  if (gate == closed_.end()) return;
  const EventId event = gate->event;
  closed_.erase(gate);
  events_.end_internal(event);
}

}  // namespace remotecl::server
