#include "server/handlers/build_lane.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

namespace remotecl::server {
namespace {

bool are_alike(const Device& one, const Device& other) {
  return one.traits().platform_name == other.traits().platform_name && one.traits().name == other.traits().name;
}

std::vector<BuildLane> lanes_of(const std::vector<Device*>& devices) {
  std::vector<BuildLane> lanes;
  for (Device* const device : devices) {
    const auto lane = std::find_if(lanes.begin(), lanes.end(),
                                   [&](const BuildLane& one) { return are_alike(*one.devices.front(), *device); });
    if (lane != lanes.end()) {
      lane->devices.push_back(device);
    } else {
      lanes.emplace_back().devices.push_back(device);
    }
  }
  return lanes;
}

}  // namespace

BuildLane build_in_lanes(const std::vector<Device*>& devices,
                         const std::function<cl_program(BuildReport&, Device&)>& build) {
  std::vector<BuildLane> lanes = lanes_of(devices);
  const auto run = [&build](BuildLane& lane) {
    for (Device* const device : lane.devices) lane.natives.emplace_back(build(lane.report, *device));
  };
  BuildLane all;
  if (lanes.empty()) return all;
  // Without launch policy, so that a lane for which there is no thread is built by this one.
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    others.push_back(std::async([&run, &lane = lanes[i]] { run(lane); }));
  }
  run(lanes.front());
  for (std::future<void>& other : others) other.get();
  for (BuildLane& lane : lanes) {
    all.devices.insert(all.devices.end(), lane.devices.begin(), lane.devices.end());
    all.report.append(std::move(lane.report));
    std::move(lane.natives.begin(), lane.natives.end(), std::back_inserter(all.natives));
  }
  return all;
}

}  // namespace remotecl::server
