#include "runtime/schedule/inputs.h"

#include <algorithm>
#include <limits>

namespace remotecl::schedule {

void Inputs::find(std::span<const Access> accesses, const Residency& residency) {
  segments_.clear();
  inputs_.clear();
  near_.assign(cluster_.present().size(), 0);
  bytes_ = 0;
  least_to_send_ = 0;
  first_holder_ = kNoDevice;
  for (const Access& access : accesses) {
    if (access.reads) residency.find(access, segments_);
  }
  double largest = 0;
  for (const Segment& segment : segments_) {
    Input& input = inputs_.emplace_back();
    input.bytes = static_cast<double>(segment.bytes);
    input.holders = segment.devices;
    Seconds least = std::numeric_limits<Seconds>::infinity();
    if (segment.on_client) least = add_source(input, kClient);
    for_each_device_while(segment.devices, [&](DeviceId device) {
      if (input.bytes > largest) {
        largest = input.bytes;
        first_holder_ = device;
      }
      least = std::min(least, add_source(input, cluster_[device].server));
      return input.source_count < kSourcesMax;
    });
    if (input.source_count == 0) {
      inputs_.pop_back();
      continue;
    }
    if (input.source_count == kSourcesMax) add_holders(input);
    bytes_ += input.bytes;
    least_to_send_ += least;
  }
}

void Inputs::add_holders(const Input& input) {
  for (std::size_t at = 0; at < std::min(near_.size(), input.holders.size()); ++at) near_[at] |= input.holders[at];
}

Seconds Inputs::add_source(Input& input, ServerId server) {
  const Network& network = cluster_.network();
  for (std::size_t at = 0; at < input.source_count; ++at) {
    if (input.sources[at] == server) return std::numeric_limits<Seconds>::infinity();
  }
  input.sources[input.source_count++] = server;
  for (const DeviceId device : cluster_.devices_of(server)) near_[device / 64] |= std::uint64_t{1} << device % 64;
  // This process receives as fast as anybody.
  return server == kClient ? 0 : network.least_seconds(server, input.bytes);
}

}  // namespace remotecl::schedule
