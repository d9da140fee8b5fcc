#pragma once

#include <string_view>

#include "extras/scheduling/schedule/situation.h"

namespace remotecl::schedule {

struct Choice {
  DeviceId device = kNoDevice;     // none: the task cannot be placed
  DeviceId runner_up = kNoDevice;  // the best of the others that it was compared with, if any
  // What the policy has compared; the least is the best. 0 if it compares nothing.
  double score = 0;
  double second = 0;  // of the runner-up
};

// What a placement led to.
struct Result {
  const Kernel& kernel;
  DeviceId device = kNoDevice;
  double size = 0;
  Seconds seconds = 0;   // that the kernel ran; 0 if that was not measured
  Seconds expected = 0;  // as known last
};

// Chooses a device for each task. It may keep a state; one scheduler owns it and calls it.
class Policy {
 public:
  virtual ~Policy() = default;

  virtual std::string_view name() const = 0;
  // What a placement is good for, in a word or two: "earliest finish".
  virtual std::string_view reason() const = 0;
  virtual Choice choose(const Situation& situation) = 0;
  virtual void finished(const Result&) {}
};

}  // namespace remotecl::schedule
