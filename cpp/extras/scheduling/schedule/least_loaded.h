#pragma once

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// The device that is free first, and of several that are free the fastest: list scheduling (Graham, "Bounds on
// multiprocessing timing anomalies", 1969), which on equal devices is at most twice as long as the best schedule. It
// sees neither that devices suit a kernel differently well nor where the data is.
class LeastLoaded : public Policy {
 public:
  std::string_view name() const override { return "least-loaded"; }
  std::string_view reason() const override { return "least loaded"; }
  Choice choose(const Situation& situation) override;
};

}  // namespace remotecl::schedule
