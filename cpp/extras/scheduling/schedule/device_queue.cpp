#include "extras/scheduling/schedule/device_queue.h"

#include <algorithm>

namespace remotecl::schedule {

namespace {

// A server may report anything.
constexpr Seconds kQueuedMax = 1e6;
constexpr double kWeightMax = 1e6;

double within(double value, double most) { return value > 0 ? std::min(value, most) : 0; }

}  // namespace

void DeviceQueue::changed() {
  const Position first = is_watching_ ? watched_ : pushed_;
  ahead_ = tasks_ > 0 ? first - done_ + share_ * since_ : -1;
  behind_ = pushed_ - first;
}

void DeviceQueue::report(const OthersLoad& others, Time now) {
  // What was done until now was done at the former rate.
  if (now > since_ && left(is_watching_ ? watched_ : pushed_, now) > 0) {
    done_ += share_ * (now - since_);
    since_ = now;
  }
  others_ = {within(others.queued, kQueuedMax), within(others.weight, kWeightMax), within(others.own, kWeightMax)};
  if (others_.own > 0) weight_ = others_.own;
  share_ = others_.queued > 0 ? weight_ / (weight_ + others_.weight) : 1;
  others_ratio_ = others_.weight / weight_;
  reported_ = now;
  changed();
}

DeviceQueue::Position DeviceQueue::push(Time now, Time earliest, Seconds seconds, bool is_watched) {
  const Seconds ours = backlog(now);
  if (tasks_++ == 0) {
    done_ = pushed_;
    since_ = now;
  }
  // The wait for the task's data is no work, so others do not stretch it. Positions advance at our share of the time.
  pushed_ += share_ * std::max(0.0, earliest - (now + ours)) + seconds;
  if (is_watched && !is_watching_) {
    is_watching_ = true;
    watched_ = pushed_;
  }
  changed();
  return pushed_;
}

Time DeviceQueue::expected_end(Position position, Time now) const {
  const Seconds ours = std::max(0.0, backlog(now) - (pushed_ - position));
  const Seconds queued = std::max(0.0, others_.queued - (now - reported_));
  return now + ours + std::min(queued, ours * others_ratio_);
}

void DeviceQueue::pop(Position position, Time end) {
  if (tasks_ > 0) --tasks_;
  if (position >= watched_ || tasks_ == 0) is_watching_ = false;
  if (position >= known_) {
    known_ = done_ = position;
    since_ = end;
  }
  changed();
}

void DeviceQueue::drop(Seconds seconds) {
  if (tasks_ > 0) --tasks_;
  is_watching_ = false;  // it may have been that one
  done_ += seconds;
  changed();
}

}  // namespace remotecl::schedule
