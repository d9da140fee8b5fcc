#include "server/execution/recorded_order.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {

// An idle place stands for what it would have waited for.
std::vector<std::uint32_t> RecordedOrder::resolve(std::span<const std::uint32_t> waits) const {
  std::vector<std::uint32_t> result;
  bool covers_barrier = false;  // what comes after the barrier already waits for it
  for (const std::uint32_t wait : waits) {
    covers_barrier = covers_barrier || wait >= after_barrier_;
    if (places_[wait].is_idle) {
      result.insert(result.end(), places_[wait].after.begin(), places_[wait].after.end());
    } else {
      result.push_back(wait);
    }
  }
  if (!covers_barrier) result.insert(result.end(), barrier_.begin(), barrier_.end());
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<std::uint32_t> RecordedOrder::take_open() {
  std::erase_if(open_, [this](std::uint32_t place) { return covered_[place]; });
  return open_;
}

void RecordedOrder::append(Place place) {
  if (!place.is_idle) {
    for (const std::uint32_t earlier : place.after) covered_[earlier] = true;
    open_.push_back(static_cast<std::uint32_t>(places_.size()));
  }
  places_.push_back(std::move(place));
  covered_.push_back(false);
}

void RecordedOrder::add_command(std::span<const std::uint32_t> waits) { append({resolve(waits)}); }

void RecordedOrder::add_point(std::span<const std::uint32_t> waits, bool waits_for_all, bool holds_later) {
  Place place{waits_for_all ? take_open() : resolve(waits)};
  place.is_idle = place.after.size() <= 1;
  if (holds_later) {
    const auto here = static_cast<std::uint32_t>(places_.size());
    barrier_ = place.is_idle ? place.after : std::vector<std::uint32_t>{here};
    after_barrier_ = here + 1;
  }
  append(std::move(place));
}

void RecordedOrder::finish() { last_ = take_open(); }

}  // namespace remotecl::server
