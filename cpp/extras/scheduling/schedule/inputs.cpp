#include "extras/scheduling/schedule/inputs.h"

#include <algorithm>
#include <limits>

namespace remotecl::schedule {

void Inputs::find(std::span<const Access> accesses, const Residency& residency) {
  segments_.clear();
  inputs_.clear();
  is_near_.assign(cluster_.network().size(), 0);
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
    segment.devices->for_each([&](DeviceId device) {
      if (input.bytes > largest) {
        largest = input.bytes;
        first_holder_ = device;
      }
      const ServerId server = cluster_[device].server;
      is_near_[server] = 1;
      least = std::min(least, add_source(input, server));
    });
    if (input.source_count == 0) {
      inputs_.pop_back();
      continue;
    }
    bytes_ += input.bytes;
    least_to_send_ += least;
  }
}

Seconds Inputs::add_source(Input& input, ServerId server) const {
  constexpr Seconds kNone = std::numeric_limits<Seconds>::infinity();
  for (std::size_t at = 0; at < input.source_count; ++at) {
    if (input.sources[at] == server) return kNone;
  }
  if (input.source_count == kSourcesMax) return kNone;
  input.sources[input.source_count++] = server;
  // This process receives as fast as anybody.
  return server == kClient ? 0 : cluster_.network().least_seconds(server, input.bytes);
}

}  // namespace remotecl::schedule
