#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/client/objects/event.h"

namespace remotecl {

// When a division began and ended: the earliest times of its pieces, and the latest end, by the host's clock. One
// thread at a time.
class DivisionTimes {
 public:
  // A piece that has ended.
  void add(Event& piece) {
    EventEnd::Profile of{};
    if (!piece.queue()->profiling() || !piece.profile(of)) return;
    if (!times_) times_ = of;
    for (std::size_t i = 0; i + 1 < of.size(); ++i) (*times_)[i] = std::min((*times_)[i], of[i]);
    times_->back() = std::max(times_->back(), of.back());
  }
  // Nullopt: there was no piece that is profiled.
  const std::optional<EventEnd::Profile>& times() const { return times_; }

 private:
  std::optional<EventEnd::Profile> times_;
};

// Makes the marker behind the pieces the event of the kernel: with its name, and with the times of the pieces, because
// the marker's own say nothing of them. `ended`: the times of pieces that have ended; `pieces`: the others, which live
// as long as the marker. Before the marker is shared.
void make_division_event(Event& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                         const std::string& kernel, std::uint64_t begin_ns);

}  // namespace remotecl
