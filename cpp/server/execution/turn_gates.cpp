#include "server/execution/turn_gates.h"

#include <algorithm>

namespace remotecl::server {

EventId TurnGates::event_of(const DeviceTurn& turn) const {
  for (const Closed& gate : closed_) {
    if (gate.turn.get() == &turn) return gate.event;
  }
  return 0;
}

void TurnGates::close(DeviceTurn& turn) {
  if (event_of(turn) != 0) return;
  closed_.push_back({Ref<DeviceTurn>(&turn), events_.begin_internal()});
  // A thread of another session reports the turn, so the rest is left to a thread of this one.
  const auto granted = [this, strand = Ref<Strand>(&strand_), turn = Ref<DeviceTurn>(&turn)] {
    strand->post([this, turn] { open(*turn); });
  };
  if (!turn.when_granted(granted)) open(turn);
}

void TurnGates::open(const DeviceTurn& turn) {
  const auto gate = std::ranges::find_if(closed_, [&turn](const Closed& closed) { return closed.turn.get() == &turn; });
  if (gate == closed_.end()) return;
  const EventId event = gate->event;
  closed_.erase(gate);
  events_.end_internal(event);
}

}  // namespace remotecl::server
