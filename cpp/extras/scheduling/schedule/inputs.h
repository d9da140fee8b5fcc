#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "extras/scheduling/schedule/cluster.h"
#include "extras/scheduling/schedule/residency.h"

namespace remotecl::schedule {

// What a task reads, and how long a device would wait for what it lacks. The transfers to a device are taken to come
// one after the other, each from its nearest holder.
class Inputs {
 public:
  explicit Inputs(const Cluster& cluster) : cluster_(cluster) {}

  void find(std::span<const Access> accesses, const Residency& residency);

  // What a device lacks, and how long that takes.
  struct Missing {
    Seconds seconds = 0;
    double bytes = 0;
  };
  Missing missing(DeviceId device) const;
  Seconds transfer(DeviceId device) const { return missing(device).seconds; }
  // A lower bound of transfer(), at a fraction of its cost: what the sources could send at best, or the device receive.
  Seconds least_transfer(DeviceId device) const {
    const ServerId here = cluster_[device].server;
    if (inputs_.empty() || is_near_[here] != 0) return 0;
    return std::max(least_to_send_, cluster_.network().least_seconds(here, bytes_));
  }
  // A device that holds the largest segment, if any.
  DeviceId first_holder() const { return first_holder_; }

 private:
  // The most holders of a segment that are looked at, because copies in many locations are near everywhere.
  static constexpr std::size_t kSourcesMax = 3;

  struct Input {
    double bytes = 0;
    const IndexSet* holders = nullptr;
    std::size_t source_count = 0;                 // at least one
    std::array<ServerId, kSourcesMax> sources{};  // different servers
  };

  // Returns a lower bound of the input's transfer from there to any other server; infinite if the server was added
  // before, or there are enough.
  Seconds add_source(Input& input, ServerId server) const;

  const Cluster& cluster_;
  std::vector<Segment> segments_;
  std::vector<Input> inputs_;
  std::vector<std::uint8_t> is_near_;  // by server, whether some of its devices hold some of the data
  double bytes_ = 0;                   // of all inputs
  Seconds least_to_send_ = 0;
  DeviceId first_holder_ = kNoDevice;
};

// Inline, because decisions ask it for each device.
inline Inputs::Missing Inputs::missing(DeviceId device) const {
  const Network& network = cluster_.network();
  const ServerId here = cluster_[device].server;
  Missing sum;
  for (const Input& input : inputs_) {
    if (input.holders->contains(device)) continue;
    Seconds shortest = network.seconds(input.sources[0], here, input.bytes);
    for (std::size_t at = 1; at < input.source_count; ++at) {
      shortest = std::min(shortest, network.seconds(input.sources[at], here, input.bytes));
    }
    sum.seconds += shortest;
    sum.bytes += input.bytes;
  }
  return sum;
}

}  // namespace remotecl::schedule
