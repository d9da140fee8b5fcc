#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl::server {

// The devices that a daemon serves, and their properties that no driver knows.
struct DeviceSelection {
  // A figure for devices: "[DEVICE=]NUMBER". DEVICE is an index or part of a name; without it, the figure is for all
  // devices. Later figures win.
  using Figures = std::vector<std::string>;

  DeviceSelection(std::convertible_to<std::string_view> auto&& devices)  // NOLINT: implicit, for those who only select
      : devices(std::string_view(devices)) {}

  std::string devices;               // "all", or a comma-separated list of indices and parts of names
  Figures watts;                     // that the device draws while it works, more than when idle
  std::vector<std::string> drivers;  // libraries of the daemon itself that the OpenCL loader is to find
  Figures prices;                    // of an hour of its work, in any currency
};

}  // namespace remotecl::server
