#include "extras/scheduling/schedule/named_policies.h"

#include <algorithm>
#include <array>

#include "extras/scheduling/schedule/earliest_finish.h"
#include "extras/scheduling/schedule/least_loaded.h"
#include "extras/scheduling/schedule/named_device.h"
#include "extras/scheduling/schedule/round_robin.h"

namespace remotecl::schedule {
namespace {

template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<P>();
}

constexpr std::array<std::string_view, 4> kNames = {"static", "round-robin", "least-loaded", "earliest-finish"};
constexpr std::array<std::unique_ptr<Policy> (*)(), kNames.size()> kMakers = {make<NamedDevice>, make<RoundRobin>,
                                                                              make<LeastLoaded>, make<EarliestFinish>};

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

std::unique_ptr<Policy> make_policy(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at == kNames.end() ? nullptr : kMakers[static_cast<std::size_t>(at - kNames.begin())]();
}

}  // namespace remotecl::schedule
