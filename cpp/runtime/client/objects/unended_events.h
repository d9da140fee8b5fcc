#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/client/objects/event.h"

namespace remotecl {

// Keeps events until they have ended, at a cost that does not depend on their number: the failure of an event that
// nobody keeps would become its queue's. Not synchronised.
class UnendedEvents {
 public:
  void add(Ref<Event> event) {
    events_.push_back(std::move(event));
    // The ends of small transfers are not reported unasked.
    if (events_.size() - first_ > kUnreportedMax) events_[events_.size() - 1 - kUnreportedMax]->observe();
    drop_ended();
    if (events_.size() < sweep_at_) return;
    std::erase_if(events_, [](const Ref<Event>& one) { return !one || one->ended(); });
    first_ = 0;
    sweep_at_ = std::max(kSweepMin, 2 * events_.size());
  }
  // Drops those that have ended before all others.
  void drop_ended() {
    while (first_ < events_.size() && events_[first_]->ended()) events_[first_++] = nullptr;
    if (first_ == events_.size()) events_.clear();
    if (events_.empty()) first_ = 0;
  }
  // About twice as many as have not ended, at most.
  std::size_t size() const { return events_.size() - first_; }

 private:
  static constexpr std::size_t kUnreportedMax = 16, kSweepMin = 64;

  std::vector<Ref<Event>> events_;
  std::size_t first_ = 0;             // those before it are null
  std::size_t sweep_at_ = kSweepMin;  // when there are so many, all are looked at
};

}  // namespace remotecl
