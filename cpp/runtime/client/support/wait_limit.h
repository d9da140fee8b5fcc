#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace remotecl {

using OptionalDeadline = std::optional<std::chrono::steady_clock::time_point>;

// How long blocking calls of this thread may wait (remotecl_limit_waits), and what those left behind that
// returned before their command had ended. Each thread has its own and touches no other.
class WaitLimit {
 public:
  // The state that calls have left behind, as bits.
  enum Left : unsigned {
    kInUse = 1,   // REMOTECL_WAIT_OVER
    kUnended = 2  // REMOTECL_WRITE_GOES_ON
  };

  // Sets the limit, counted from now; without a time there is none. Returns what calls have left behind since
  // the last time.
  static unsigned set(std::optional<std::chrono::nanoseconds> time);
  // Empty if there is no limit.
  static const OptionalDeadline& deadline();
  static bool is_set() { return deadline().has_value(); }
  static void note(Left left);
};

}  // namespace remotecl
