#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace remotecl {

using OptionalDeadline = std::optional<std::chrono::steady_clock::time_point>;

// How long blocking calls of a thread may wait (remotecl_limit_waits), and what became of those that have returned
// before their command had ended. The thread's own; no other one may touch it.
class WaitLimit {
 public:
  // What a call has left behind, in bits.
  enum Left : unsigned {
    kInUse = 1,   // REMOTECL_WAIT_OVER
    kUnended = 2  // REMOTECL_WRITE_GOES_ON
  };

  // From now on, for so long; nothing: calls wait for as long as it takes. What calls have left behind since the last
  // time.
  static unsigned set(std::optional<std::chrono::nanoseconds> time);
  // None: there is no limit.
  static const OptionalDeadline& deadline();
  static bool is_set() { return deadline().has_value(); }
  static void note(Left left);
};

}  // namespace remotecl
