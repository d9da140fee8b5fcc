#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace.h"

namespace remotecl::schedule {

// What a day was like under one policy.
struct Outcome {
  Time makespan = 0;
  // By user: the mean over its jobs of how long each took, next to its critical path.
  std::vector<double> slowdown;
  // The longest time for which a user with unfinished tasks has seen none of them begin or end.
  Seconds stall = 0;
  Seconds longest_task = 0;
  std::size_t tasks = 0;
  // The processor's seconds for each placement, in the order of the trace.
  std::vector<float> decisions;

  // Jain's index of users' speeds: 1 if all are slowed down alike, 1/n if one has everything.
  double fairness() const;
  double mean_slowdown() const;
  double worst_slowdown() const;
};

// Each user has a scheduler of its own, which sees others by what servers report.
Outcome simulate(const Trace& trace, std::string_view policy);

}  // namespace remotecl::schedule
