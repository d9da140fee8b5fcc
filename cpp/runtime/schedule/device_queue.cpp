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

DeviceQueue::Plan DeviceQueue::push(Time now, Time earliest, Seconds seconds, Time end) {
  const Time alone = std::max(now + backlog(now), earliest) + seconds;
  if (tasks_ == 0) late_ = 0;
  ++tasks_;
  end_ = alone - late_;
  return {alone - late_, end - late_};
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
