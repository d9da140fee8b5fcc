#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

inline constexpr std::string_view kDefaultPolicy = "earliest-finish";

std::span<const std::string_view> policy_names();

// Null if there is none of this name.
std::unique_ptr<Policy> make_policy(std::string_view name);

}  // namespace remotecl::schedule
