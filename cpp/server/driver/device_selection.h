#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl::server {

// The devices that a daemon serves.
struct DeviceSelection {
  DeviceSelection(std::convertible_to<std::string_view> auto&& devices)  // NOLINT: implicit, for those who only select
      : devices(std::string_view(devices)) {}

  std::string devices;               // "all", or a comma-separated list of indices and parts of names
  std::vector<std::string> drivers;  // libraries of the daemon itself that the OpenCL loader is to find
};

}  // namespace remotecl::server
