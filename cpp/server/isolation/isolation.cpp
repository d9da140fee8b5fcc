#include "server/isolation/isolation.h"

#include <algorithm>

namespace remotecl::server {

IsolationChoice choose_isolation(std::optional<bool> asked, bool is_open, const NativeDriver& driver) {
  const auto& devices = driver.devices();
  const bool has_processor =
      std::any_of(devices.begin(), devices.end(), [](const auto& device) { return device->traits().is_processor; });
  if (asked == true) return {true, "sessions have a process each, as --isolate says"};
  if (asked == false) {
    const bool is_risk = is_open && has_processor;
    return {false, std::string("sessions share one process, as --no-isolate says") +
                       (is_risk ? "; kernels of all users can do there what this server's user can" : "")};
  }
  if (!is_open) return {false, "sessions share one process: the server is on loopback and knows no users"};
  if (has_processor) {
    return {
        true,
        "sessions have a process each: others than this server's user may use it, and kernels run on this machine's "
        "processors; --no-isolate has them share one"};
  }
  return {false,
          "sessions share one process, although others than this server's user may use it: its devices divide their "
          "time between processes, which can make commands five times as slow; --isolate gives each session one"};
}

}  // namespace remotecl::server
