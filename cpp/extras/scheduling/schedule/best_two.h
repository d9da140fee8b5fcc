#pragma once

#include <limits>

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// The devices with the two least scores of those that were offered; among equals, the first. A caller that looks for
// the best need not offer devices that cannot be it; then the runner-up is a good one, but not always the second best.
class BestTwo {
 public:
  void offer(DeviceId device, double score) {
    if (score < choice_.score) {
      choice_ = {device, choice_.device, score, choice_.score};
    } else if (score < choice_.second) {
      choice_.runner_up = device;
      choice_.second = score;
    }
  }
  double score() const { return choice_.score; }
  const Choice& choice() const { return choice_; }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  Choice choice_{kNoDevice, kNoDevice, kNone, kNone};
};

}  // namespace remotecl::schedule
