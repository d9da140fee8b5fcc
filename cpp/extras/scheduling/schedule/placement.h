#pragma once

#include <cstdint>
#include <string>

#include "extras/scheduling/schedule/estimate.h"
#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// What a policy calls itself.
struct PolicyText {
  std::string name, reason;
};

// Where a task goes, and why, in numbers.
struct Placement {
  DeviceId device = kNoDevice;  // none: no device can run the task
  Ticket ticket = 0;            // for Scheduler::finished() and Task::after
  Time now = 0;                 // of the decision
  Time ready = 0;               // when the tasks before it are expected to end
  Estimate estimate;            // there
  double score = 0;             // that the policy has compared, the less the better; 0 if it compares nothing
  // The best of the others that the policy has compared, and its score.
  DeviceId runner_up = kNoDevice;
  double second = 0;
  bool is_sample = false;              // its times are worth a report: Scheduler::finished() with RunTimes
  const PolicyText* policy = nullptr;  // valid as long as the scheduler, whatever policies come after
};

// For people: "device 3 (earliest-finish: earliest finish): done in 12.1 ms, ...".
std::string explain(const Placement& placement);

}  // namespace remotecl::schedule
