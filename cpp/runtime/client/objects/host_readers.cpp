#include "runtime/client/objects/host_readers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace remotecl {

void HostReaders::add(Ref<Event> event) {
  // A later command of the same in-order queue ends later.
  const bool is_in_order = event->queue()->in_order() && event->sequence() != 0;
  const auto is_implied = [&](const Ref<Event>& earlier) {
    return is_in_order && earlier->queue() == event->queue() && earlier->sequence() != 0;
  };
  std::erase_if(events_, [&](const Ref<Event>& earlier) { return earlier->ended() || is_implied(earlier); });
  events_.push_back(std::move(event));
  if (events_.size() > kEventsMax) join_oldest();
}

const std::vector<Ref<Event>>& HostReaders::unended() {
  std::erase_if(events_, [](const Ref<Event>& event) { return event->ended(); });
  return events_;
}

std::size_t HostReaders::count() const {
  return static_cast<std::size_t>(std::ranges::count_if(events_, [](const auto& event) { return !event->ended(); }));
}

// Puts one event in the place of all but the newest one.
void HostReaders::join_oldest() {
  const auto all = make_ref<Event>(Ref<Context>(&events_.front()->context()));
  const std::shared_ptr<void> ends(nullptr, [all](void*) { all->complete(CL_COMPLETE); });  // when nothing keeps it
  for (std::size_t i = 0; i + 1 < events_.size(); ++i) events_[i]->at_end([ends] {});
  events_ = {all, events_.back()};
}

}  // namespace remotecl
