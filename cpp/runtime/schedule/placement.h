#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/schedule/estimate.h"

namespace remotecl::schedule {

// Where a task goes, and why, in numbers.
struct Placement {
  DeviceId device = kNoDevice;  // none: no device can run the task
  Ticket ticket = 0;            // for Scheduler::finished() and Task::after
  Time now = 0;                 // of the decision
  Time ready = 0;               // when the tasks before it are expected to end
  Estimate estimate;            // there
  DeviceId runner_up = kNoDevice;
  Estimate second;  // on the runner-up
  std::uint32_t candidates = 0;
  std::string_view policy;  // its name and reason; valid as long as the policy
  std::string_view reason;
};

// For people: "device 3 of 16 by earliest-finish (earliest finish): done in 12.1 ms ...".
std::string explain(const Placement& placement);

}  // namespace remotecl::schedule
