#include "runtime/schedule/device_queue.h"

#include <algorithm>

namespace remotecl::schedule {

namespace {

// A server may report anything.
constexpr Seconds kQueuedMax = 1e6;
constexpr double kWeightMax = 1e6;

double within(double value, double most) { return value > 0 ? std::min(value, most) : 0; }

}  // namespace

void DeviceQueue::report(const OthersLoad& others, Time now) {
  // What was done until now was done at the former rate.
  if (now > since_ && left(is_watching_ ? watched_ : pushed_, now) > 0) {
    done_ += share_ * (now - since_);
    since_ = now;
  }
  others_ = {within(others.queued, kQueuedMax), within(others.weight, kWeightMax)};
  share_ = others_.queued > 0 ? weight_ / (weight_ + others_.weight) : 1;
  reported_ = now;
}

DeviceQueue::Position DeviceQueue::push(Time now, Time earliest, Seconds seconds, bool is_watched) {
  const Seconds ours = backlog(now);
  if (tasks_++ == 0) {
    done_ = pushed_;
    since_ = now;
  }
  pushed_ += std::max(0.0, earliest - (now + ours)) + seconds;
  if (is_watched && !is_watching_) {
    is_watching_ = true;
    watched_ = pushed_;
  }
  return pushed_;
}

Time DeviceQueue::expected_end(Position position, Time now) const {
  const Seconds ours = std::clamp(backlog(now) - (pushed_ - position), 0.0, backlog(now));
  return now + ours + std::min(others_at(now).queued, ours * others_.weight / weight_);
}

void DeviceQueue::pop(Position position, Time end) {
  if (tasks_ > 0) --tasks_;
  if (position >= watched_) is_watching_ = false;
  if (position < known_) return;
  known_ = done_ = position;
  since_ = end;
}

void DeviceQueue::drop(Seconds seconds) {
  if (tasks_ > 0) --tasks_;
  is_watching_ = false;  // it may have been that one
  done_ += seconds;
}

}  // namespace remotecl::schedule
