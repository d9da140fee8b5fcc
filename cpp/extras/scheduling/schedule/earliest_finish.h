#pragma once

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// The device on which the task is expected to end first: after what is queued there, after its data has come, and after
// the time that the kernel needs there. This is the second phase of HEFT (Topcuoglu, Hariri, Wu, "Performance-effective
// and low-complexity task scheduling for heterogeneous computing", 2002), without insertion into gaps, because queues
// keep their order. HEFT's first phase sorts all tasks before; here they come one by one and are placed at once, which
// is the minimum completion time heuristic of Maheswaran et al. (1999). What has not been measured is explored, see
// Exploration.
class EarliestFinish : public Policy {
 public:
  std::string_view name() const override { return "earliest-finish"; }
  std::string_view reason() const override { return "earliest finish"; }
  Choice choose(const Situation& situation) override;
};

}  // namespace remotecl::schedule
