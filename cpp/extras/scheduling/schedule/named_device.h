#pragma once

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// Each task goes where the user has said: no scheduling at all, what HaoCL does (Xie et al., "HaoCL: Harnessing
// large-scale heterogeneous processors made easy", 2020). What cannot run there goes to the first device that runs it.
class NamedDevice : public Policy {
 public:
  std::string_view name() const override { return "static"; }
  std::string_view reason() const override { return "as told"; }
  Choice choose(const Situation& situation) override {
    const DeviceId named = situation.task.named;
    return {.device = situation.is_candidate(named) ? named : situation.first_candidate()};
  }
};

}  // namespace remotecl::schedule
