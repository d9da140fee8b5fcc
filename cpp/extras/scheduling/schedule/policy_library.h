#pragma once

#include <memory>
#include <string>

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// A policy from a shared library that exports remotecl_policy_get() of remotecl/policy.h. Throws std::runtime_error,
// which says what is wrong. The library stays loaded as long as the policy.
std::unique_ptr<Policy> load_policy(const std::string& path, const std::string& options);

}  // namespace remotecl::schedule
