#include "extras/scheduling/schedule/exploration.h"

#include <algorithm>

namespace remotecl::schedule {

void Exploration::begin_trial(DeviceId device, Seconds expected) {
  ++trials_[device];
  pending_ += expected;
}

void Exploration::end_trial(DeviceId device, Seconds expected, Seconds excess) {
  --trials_[device];
  pending_ = std::max(0.0, pending_ - expected);
  spent_ += std::max(0.0, excess);
}

}  // namespace remotecl::schedule
