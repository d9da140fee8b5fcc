#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/client/support/clock_estimate.h"

namespace remotecl {

// The relation to another clock that may drift: its offset at two moments, interpolated linearly. A value.
class ClockLine {
 public:
  struct Point {
    std::uint64_t host_ns;
    std::uint64_t offset_ns;  // to be added, with wrap-around, to the other clock's times
  };

  ClockLine() = default;
  // One moment is enough for a clock without drift.
  explicit ClockLine(const Point& only) : begin_(only), end_(only) {}
  ClockLine(const Point& begin, const Point& end) : begin_(begin), end_(end) {}

  // The host's time when the other clock showed `time_ns`.
  std::uint64_t to_host(std::uint64_t time_ns) const { return time_ns + offset_at(time_ns + begin_.offset_ns); }
  // The relation to yet another clock that drifts in the same way, given one reading of it.
  ClockLine through(const Point& point) const {
    const std::uint64_t here = offset_at(point.host_ns), more_ns = point.offset_ns - here;
    return {{begin_.host_ns, begin_.offset_ns + more_ns}, {end_.host_ns, end_.offset_ns + more_ns}};
  }

 private:
  std::uint64_t offset_at(std::uint64_t host_ns) const {
    if (end_.host_ns == begin_.host_ns) return begin_.offset_ns;
    const auto elapsed = static_cast<std::int64_t>(host_ns - begin_.host_ns);
    const auto span = static_cast<std::int64_t>(end_.host_ns - begin_.host_ns);
    const auto drift = static_cast<std::int64_t>(end_.offset_ns - begin_.offset_ns);
    if (drift >= span || -drift >= span) return begin_.offset_ns;  // only a malicious server claims that much drift
    const double part = static_cast<double>(elapsed) / static_cast<double>(span);
    return begin_.offset_ns +
           static_cast<std::uint64_t>(std::llround(std::clamp(part, -1.0, 2.0) * static_cast<double>(drift)));
  }

  Point begin_{}, end_{};
};

}  // namespace remotecl
