#include "extras/scheduling/schedule/placement.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace remotecl::schedule {
namespace {

// For people: "12.1 ms".
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

std::string in_digits(double figure) {
  char text[32];
  std::snprintf(text, std::size(text), "%.6g", figure);
  return text;
}

}  // namespace

std::string explain(const Placement& placement) {
  if (placement.device == kNoDevice) return "no device can run this kernel";
  const Estimate& there = placement.estimate;
  std::string text = "device " + std::to_string(placement.device) + " (" + placement.policy->name + ": " +
                     placement.policy->reason + "): done in " + in_units(there.finish - placement.now) + ", " +
                     std::to_string(there.bytes) + " bytes to fetch in " + in_units(there.transfer) + ", runs " +
                     in_units(there.seconds) + (there.measured ? "" : " (predicted)");
  if (placement.ready > placement.now) text += ", waits " + in_units(placement.ready - placement.now) + " for others";
  if (placement.runner_up == kNoDevice) return text;
  return text + "; score " + in_digits(placement.score) + ", next device " + std::to_string(placement.runner_up) +
         " with " + in_digits(placement.second);
}

}  // namespace remotecl::schedule
