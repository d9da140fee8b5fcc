#include "extras/streams/support/frame_clock.h"

#include <cmath>
#include <thread>

namespace remotecl::plugins {

std::uint64_t FrameClock::overdue(std::uint64_t number) {
  if (rate_ == 0) return 0;
  if (!start_) start_ = Clock::now();
  const double due = std::chrono::duration<double>(Clock::now() - *start_).count() * rate_;
  const auto newest = static_cast<std::uint64_t>(std::floor(due));
  return newest > number ? newest - number : 0;
}

void FrameClock::wait_for(std::uint64_t number) {
  if (rate_ == 0) return;
  if (!start_) start_ = Clock::now();
  const std::chrono::duration<double> since(static_cast<double>(number) / rate_);
  std::this_thread::sleep_until(*start_ + std::chrono::duration_cast<Clock::duration>(since));
}

std::uint64_t FrameClock::timestamp_ns(std::uint64_t number) const {
  return rate_ == 0 ? 0 : static_cast<std::uint64_t>(1e9 * static_cast<double>(number) / rate_);
}

}  // namespace remotecl::plugins
