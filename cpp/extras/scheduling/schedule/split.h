#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace remotecl::schedule {

// A range of one dimension of an NDRange, for one device.
struct Piece {
  std::uint32_t device = 0;  // an index into the speeds
  std::uint64_t begin = 0;
  std::uint64_t count = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// One piece for each device, in proportion to its speed (any unit; none below 0) and in order of devices. Each begins
// at a multiple of `granularity`, the work-group's size; the last one may end elsewhere. Devices that would get nothing
// have no piece. Whole groups are dealt by the largest remainder, so that no device's share is off by more than one.
// REQUIRES: granularity > 0, and a speed above 0.
std::vector<Piece> split_in_proportion(std::span<const double> speeds, std::uint64_t items, std::uint64_t granularity);

}  // namespace remotecl::schedule
