#pragma once

#include <chrono>
#include <cstdint>

namespace remotecl::server {

// Estimates how long a device takes for the commands that it has, from how many commands have ended between looks. A
// plain value without a clock or lock.
class LoadMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `ended`: how many commands have ended until now. `is_running`: whether the driver has commands.
  void look(Time now, std::uint64_t ended, bool is_running);
  // The looks end for a while.
  void rest() { last_ = {}; }

  // How long the device takes for so many commands, as of the last look. `is_running`: the driver has some of them,
  // so they take at least as long as the device has been without an end.
  double seconds(std::uint64_t commands, bool is_running) const;

 private:
  using Seconds = std::chrono::duration<double>;
  // Of a command, as long as nothing is known.
  static constexpr double kGuess = 100e-6;
  // How much the latest ends count.
  static constexpr double kNewest = 0.25;

  double mean_ = 0;  // seconds of a command; 0: not known
  Time last_{};      // the last look
  Time progress_{};  // when the driver got its first command, or the last end was seen
  std::uint64_t ended_ = 0;
  bool was_running_ = false;
  Seconds busy_{};  // since the last end was seen
};

}  // namespace remotecl::server
