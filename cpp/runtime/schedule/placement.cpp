#include "runtime/schedule/placement.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace remotecl::schedule {
namespace {

std::string in_units(Seconds seconds) {
  char text[32];
  const double size = std::abs(seconds);
  if (size < 1e-3) {
    std::snprintf(text, std::size(text), "%.1f us", seconds * 1e6);
  } else if (size < 1) {
    std::snprintf(text, std::size(text), "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, std::size(text), "%.1f s", seconds);
  }
  return text;
}

std::string describe(DeviceId device, const Estimate& there, Time now) {
  std::string text = "device " + std::to_string(device) + ", done in " + in_units(there.finish - now) + ": free in " +
                     in_units(there.free_at - now) + ", " + std::to_string(there.bytes) + " bytes to fetch in " +
                     in_units(there.transfer) + ", runs " + in_units(there.seconds);
  return text + (there.measured ? "" : " (predicted)");
}

}  // namespace

std::string explain(const Placement& placement) {
  if (placement.device == kNoDevice) return "no device can run this kernel";
  std::string text = std::string(placement.policy) + ", " + std::string(placement.reason) + " of " +
                     std::to_string(placement.candidates) + ": " +
                     describe(placement.device, placement.estimate, placement.now);
  if (placement.ready > placement.now) text += "; waits " + in_units(placement.ready - placement.now) + " for others";
  if (placement.runner_up == kNoDevice) return text;
  return text + "; next: " + describe(placement.runner_up, placement.second, placement.now);
}

}  // namespace remotecl::schedule
