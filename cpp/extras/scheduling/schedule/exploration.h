#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// Whether a kernel may be tried on devices that have not run it yet. The prediction for such a device may be wrong
// either way. Taken as it is, a device whose prediction is too high would never be tried; so it is halved, which is
// optimism in the face of uncertainty (Lai and Robbins 1985), while trials have cost little. Until a trial has ended,
// the prediction is doubled, so that a burst of tasks does not follow the first one to a slow device. Where even that
// is too high, for instance because much data would have to move first, the device is tried once all trials together
// have room for what this one costs.
class Exploration {
 public:
  // The most that trials may cost, as a share of the time of all measured runs of the kernel.
  static constexpr double kShareMax = 0.05;
  static constexpr double kOptimism = 0.5, kCaution = 2;

  // Makes room, so that begin_trial() allocates nothing.
  void reserve(std::size_t devices) { trials_.resize(devices); }

  // The factor for the prediction for a device that has not been measured.
  double factor(DeviceId device) const {
    if (trials_[device] > 0) return kCaution;
    return spent() < spent_max() ? kOptimism : 1;
  }

  // Whether the device may be tried with a task that this delays by `cost`.
  bool affords(DeviceId device, Seconds cost) const { return trials_[device] == 0 && spent() + cost <= spent_max(); }

  void begin_trial(DeviceId device, Seconds expected);
  // `excess`: how much longer it took, with its transfers, than it would have run on the fastest device.
  void end_trial(DeviceId device, Seconds expected, Seconds excess);
  void ran(Seconds seconds) { total_ += seconds; }
  Seconds spent() const { return spent_ + pending_; }
  Seconds spent_max() const { return kShareMax * total_; }

 private:
  std::vector<std::uint32_t> trials_;  // by device, those that have not ended
  Seconds pending_ = 0;                // expected of these
  Seconds spent_ = 0;
  Seconds total_ = 0;
};

}  // namespace remotecl::schedule
