#include "server/status/session_load.h"

#include <algorithm>
#include <cmath>

namespace remotecl::server {
namespace {

// At least 1 for any load, because 0 means none, and at most a number that people can read.
std::uint64_t scaled(double value, double scale) {
  constexpr double kMax = 1e15;
  if (!(value > 0)) return 0;
  return static_cast<std::uint64_t>(std::clamp(std::round(value * scale), 1.0, kMax));
}

bool is_notable(std::uint64_t before, std::uint64_t now) {
  if ((before == 0) != (now == 0)) return true;
  return std::max(before, now) - std::min(before, now) > before / 10;
}

LoadOfDevice load_of_others(std::span<const SessionLoad> sessions, std::uint64_t session, std::uint32_t device) {
  double queued = 0, weight = 0;
  for (const SessionLoad& each : sessions) {
    if (each.session == session || device >= each.devices.size()) continue;
    const SessionLoad::OnDevice& load = each.devices[device];
    if (!(load.queued_s > 0)) continue;
    queued += load.queued_s;
    weight += load.weight;
  }
  return {device, scaled(queued, 1e6), scaled(weight, 1e3)};
}

}  // namespace

std::vector<LoadOfDevice> loads_of_others(std::span<const SessionLoad> sessions, std::uint64_t session,
                                          std::span<const std::uint32_t> devices) {
  std::vector<LoadOfDevice> loads;
  for (const std::uint32_t device : devices) loads.push_back(load_of_others(sessions, session, device));
  return loads;
}

std::vector<LoadOfDevice> loads_of(const DeviceLoads& message) {
  std::vector<LoadOfDevice> loads;
  message.devices.for_each([&loads](const LoadOfDevice& load) { loads.push_back(load); });
  return loads;
}

const LoadOfDevice* ReportedLoads::find(std::uint32_t device) const {
  const auto at = std::ranges::find(loads_, device, &LoadOfDevice::index);
  return at == loads_.end() ? nullptr : &*at;
}

std::vector<LoadOfDevice> ReportedLoads::changes(std::span<const LoadOfDevice> loads) const {
  std::vector<LoadOfDevice> changes;
  for (const LoadOfDevice& load : loads) {
    const LoadOfDevice* const before = find(load.index);
    if (before == nullptr || is_notable(before->queued_us, load.queued_us) ||
        is_notable(before->weight_thousandths, load.weight_thousandths)) {
      changes.push_back(load);
    }
  }
  return changes;
}

void ReportedLoads::reported(std::span<const LoadOfDevice> loads) {
  for (const LoadOfDevice& load : loads) {
    std::erase_if(loads_, [&load](const LoadOfDevice& before) { return before.index == load.index; });
    loads_.push_back(load);
  }
}

}  // namespace remotecl::server
