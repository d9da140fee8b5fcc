#pragma once

#include <limits>

#include "runtime/schedule/policy.h"

namespace remotecl::schedule {

// The devices with the two least scores of those that were offered; among equals, the first.
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
  // A device whose score is no less is neither.
  double limit() const { return choice_.second; }
  const Choice& choice() const { return choice_; }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  Choice choice_{kNoDevice, kNoDevice, kNone, kNone};
};

}  // namespace remotecl::schedule
