#pragma once

#include <vector>

#include "extras/scheduling/schedule/split.h"
#include "extras/scheduling/split/work_group.h"

namespace remotecl {

// A range that is divided along a dimension into parts for queues, with a work-group that suits all of them. A value.
class DividedRange {
 public:
  // Gives the range a work-group if the caller has not. Drivers choose one by a launch's size, and some compile for
  // each choice, so that parts of different sizes would cost a compilation each.
  DividedRange(const NDRange& range, Kernel& kernel, cl_uint dimension, const std::vector<const Device*>& devices)
      : range_(range), dimension_(dimension) {
    if (range.has_local || (dimension == 0 && range.global[0] < kGroup * devices.size())) return;
    GroupLimits limits{kGroup, {kGroup, kGroup, kGroup}};
    for (const Device* device : devices) limits.lower(kernel, *device);
    range_.has_local = group_is_ours_ = true;
    range_.local = work_group(range, dimension, devices.size(), limits);
  }

  cl_uint dimension() const { return dimension_; }
  std::uint64_t items() const { return range_.global[dimension_]; }
  // Parts begin at multiples of it.
  std::uint64_t granularity() const { return range_.has_local ? range_.local[dimension_] : 1; }
  NDRange part(const schedule::Piece& piece) const {
    NDRange part = range_;
    part.offset[dimension_] += piece.begin;
    part.global[dimension_] = piece.count;
    // The last piece may end within a group, which not all devices allow.
    if (group_is_ours_ && piece.count % range_.local[dimension_] != 0) part.has_local = false;
    return part;
  }

 private:
  // Items of a work-group where the caller leaves that open.
  static constexpr std::uint64_t kGroup = 64;

  NDRange range_;
  bool group_is_ours_ = false;
  cl_uint dimension_;
};

}  // namespace remotecl
