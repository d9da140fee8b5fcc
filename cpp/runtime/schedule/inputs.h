#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/schedule/cluster.h"
#include "runtime/schedule/residency.h"

namespace remotecl::schedule {

// What a task reads, and how long a device would wait for what it lacks. The transfers to a device are taken to come
// one after the other, each from its nearest holder.
class Inputs {
 public:
  explicit Inputs(const Cluster& cluster) : cluster_(cluster) {}

  void find(std::span<const Access> accesses, const Residency& residency);

  Seconds transfer(DeviceId device) const;
  std::uint64_t bytes_missing(DeviceId device) const;
  // A device that holds the largest segment, if any.
  DeviceId first_holder() const { return first_holder_; }

 private:
  // Of many holders these are looked at: copies in many places are near everywhere.
  static constexpr std::size_t kSourcesMax = 4;

  struct Input {
    std::uint64_t bytes = 0;
    DeviceWords holders;
    std::array<ServerId, kSourcesMax> sources{};  // different servers
    std::size_t source_count = 0;
  };

  void add_source(Input& input, ServerId server) const;

  const Cluster& cluster_;
  std::vector<Segment> segments_;
  std::vector<Input> inputs_;
  DeviceId first_holder_ = kNoDevice;
};

}  // namespace remotecl::schedule
