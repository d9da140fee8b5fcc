#pragma once

#include <limits>

#include "runtime/schedule/policy.h"

namespace remotecl::schedule {

// The devices with the two least scores of those that were offered; among equals, the first.
class BestTwo {
 public:
  void offer(DeviceId device, double score) {
    if (score < best_) {
      choice_.runner_up = choice_.device;
      second_ = best_;
      choice_.device = device;
      best_ = score;
    } else if (score < second_) {
      choice_.runner_up = device;
      second_ = score;
    }
  }
  double best() const { return best_; }
  // Higher scores change nothing.
  double second() const { return second_; }
  const Choice& choice() const { return choice_; }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  Choice choice_;
  double best_ = kNone, second_ = kNone;
};

}  // namespace remotecl::schedule
