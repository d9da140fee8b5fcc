#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace remotecl::plugins {

// The times at which the frames of something that could be read at once are due. One thread.
class FrameClock {
 public:
  using Clock = std::chrono::steady_clock;

  // `rate`: frames a second; 0: at once.
  explicit FrameClock(double rate) : rate_(rate) {}

  // How many frames from `number` on are outdated, because a later one is due by now.
  std::uint64_t overdue(std::uint64_t number);
  // Returns when frame `number` is due.
  void wait_for(std::uint64_t number);
  std::uint64_t timestamp_ns(std::uint64_t number) const;

 private:
  const double rate_;
  std::optional<Clock::time_point> start_;  // of frame 0: its first read
};

}  // namespace remotecl::plugins
