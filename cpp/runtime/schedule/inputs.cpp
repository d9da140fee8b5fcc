#include "runtime/schedule/inputs.h"

#include <algorithm>
#include <limits>

namespace remotecl::schedule {

void Inputs::find(std::span<const Access> accesses, const Residency& residency) {
  segments_.clear();
  inputs_.clear();
  first_holder_ = kNoDevice;
  for (const Access& access : accesses) {
    if (access.reads) residency.find(access, segments_);
  }
  std::uint64_t largest = 0;
  for (const Segment& segment : segments_) {
    Input& input = inputs_.emplace_back(Input{segment.bytes, segment.devices, {}, 0});
    if (segment.on_client) add_source(input, kClient);
    for_each_device_while(segment.devices, [&](DeviceId device) {
      if (segment.bytes > largest) {
        largest = segment.bytes;
        first_holder_ = device;
      }
      add_source(input, cluster_[device].server);
      return input.source_count < kSourcesMax;
    });
  }
}

void Inputs::add_source(Input& input, ServerId server) const {
  const auto end = input.sources.begin() + static_cast<std::ptrdiff_t>(input.source_count);
  if (std::find(input.sources.begin(), end, server) == end) input.sources[input.source_count++] = server;
}

Seconds Inputs::transfer(DeviceId device) const {
  Seconds sum = 0;
  const ServerId here = cluster_[device].server;
  for (const Input& input : inputs_) {
    if (input.source_count == 0 || contains(input.holders, device)) continue;
    Seconds shortest = std::numeric_limits<Seconds>::infinity();
    for (std::size_t at = 0; at < input.source_count; ++at) {
      shortest = std::min(shortest, cluster_.network().between(input.sources[at], here).seconds(input.bytes));
    }
    sum += shortest;
  }
  return sum;
}

std::uint64_t Inputs::bytes_missing(DeviceId device) const {
  std::uint64_t sum = 0;
  for (const Input& input : inputs_) sum += contains(input.holders, device) ? 0 : input.bytes;
  return sum;
}

}  // namespace remotecl::schedule
