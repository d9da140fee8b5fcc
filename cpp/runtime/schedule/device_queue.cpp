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
  others_ = {within(others.queued, kQueuedMax), within(others.weight, kWeightMax)};
  reported_ = now;
}

OthersLoad DeviceQueue::others_at(Time now) const {
  return {std::max(0.0, others_.queued - (now - reported_)), others_.weight};
}

Seconds DeviceQueue::backlog(Time now) const {
  if (tasks_ == 0) return 0;
  const Seconds left = end_ + late_ - now;
  // What should have ended needs, for all that is known, as long again as it is late.
  return left >= 0 ? left : -left;
}

Time DeviceQueue::end(Time now, Time earliest, Seconds seconds, double weight) const {
  const Seconds ours = backlog(now);
  const Time begin = std::max(now + ours, earliest);
  if (others_.queued <= 0) return begin + seconds;
  // While we wait for data only others use the device.
  const OthersLoad others = others_at(begin - ours);
  return begin + seconds + std::min(others.queued, (ours + seconds) * others.weight / weight);
}

DeviceQueue::Plan DeviceQueue::push(Time now, Time earliest, Seconds seconds, double weight) {
  const Time shared = end(now, earliest, seconds, weight);
  const Time alone = std::max(now + backlog(now), earliest) + seconds;
  if (tasks_ == 0) late_ = 0;
  ++tasks_;
  end_ = alone - late_;
  return {alone - late_, shared - late_};
}

Time DeviceQueue::expected_end(const Plan& plan, Time now) const { return std::max(now, plan.shared + late_); }

void DeviceQueue::pop(const Plan& plan, Time now) {
  late_ = now - plan.alone;
  if (tasks_ > 0) --tasks_;
}

void DeviceQueue::drop(Seconds seconds, Time now) {
  end_ = std::max(end_ - seconds, now - late_);
  if (tasks_ > 0) --tasks_;
}

}  // namespace remotecl::schedule
