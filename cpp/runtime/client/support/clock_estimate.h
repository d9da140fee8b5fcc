#pragma once

#include <cstdint>

#include "runtime/base/host_time.h"

namespace remotecl {

// Estimates the offset of another clock from the host's, from readings over a network, as NTP does: the
// reading with the shortest round trip is the most precise. A value.
class ClockEstimate {
 public:
  struct Reading {
    std::uint64_t sent_ns;      // host clock
    std::uint64_t clock_ns;     // the other clock, at some moment in between
    std::uint64_t received_ns;  // host clock

    std::uint64_t round_trip_ns() const { return received_ns - sent_ns; }
    // The best guess of the host's time when the other clock was read.
    std::uint64_t host_ns() const { return sent_ns + round_trip_ns() / 2; }
  };

  void add(const Reading& reading) {
    if (known_ && reading.round_trip_ns() >= best_.round_trip_ns()) return;
    best_ = reading;
    known_ = true;
  }
  bool known() const { return known_; }
  const Reading& best() const { return best_; }  // if known
  // The host's time of the best reading.
  std::uint64_t host_ns() const { return best_.host_ns(); }
  // To be added, with wrap-around, to the other clock's times. 0 without a reading, and if the other clock
  // appears to be the host's own: clocks of two machines, which count from their starts, are not this close
  // by chance.
  std::uint64_t offset_ns() const {
    const bool is_same = best_.sent_ns <= best_.clock_ns && best_.clock_ns <= best_.received_ns;
    return !known_ || is_same ? 0 : best_.host_ns() - best_.clock_ns;
  }

 private:
  Reading best_{};
  bool known_ = false;
};

}  // namespace remotecl
