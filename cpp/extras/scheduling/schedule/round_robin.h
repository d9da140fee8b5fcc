#pragma once

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// Each device in turn, whatever it is and does: the round robin of time-sharing systems (Kleinrock 1964), over devices.
// It knows nothing and costs next to nothing; the yardstick for the others.
class RoundRobin : public Policy {
 public:
  std::string_view name() const override { return "round-robin"; }
  std::string_view reason() const override { return "next in turn"; }
  Choice choose(const Situation& situation) override;

 private:
  DeviceId next_ = 0;
};

}  // namespace remotecl::schedule
