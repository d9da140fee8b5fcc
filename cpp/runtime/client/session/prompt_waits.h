#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace remotecl {

// Whether a program is expected to wait right after its commands, because it has done so several times in a row.
// A value; its owner synchronises.
class PromptWaits {
 public:
  // A command at this time; the first one since the last wait counts.
  void add_command(std::int64_t now_ns) {
    if (command_ns_ == 0) command_ns_ = now_ns;
  }
  bool has_command() const { return command_ns_ != 0; }
  // A wait at this time, after a command.
  void add_wait(std::int64_t now_ns) {
    count_ = now_ns - command_ns_ < kPromptNs ? std::min(count_ + 1, kExpectedAfter) : 0;
    command_ns_ = 0;
  }
  // The program has paused instead of waiting.
  void add_pause() {
    if (has_command()) count_ = 0;
  }

  bool expects_wait() const { return count_ == kExpectedAfter; }

 private:
  // A wait is prompt within this time after its first command.
  static constexpr std::int64_t kPromptNs = std::chrono::nanoseconds(std::chrono::microseconds(50)).count();
  static constexpr int kExpectedAfter = 8;

  std::int64_t command_ns_ = 0;  // the first command since the last wait; 0: none
  int count_ = 0;                // of prompt waits in a row
};

}  // namespace remotecl
