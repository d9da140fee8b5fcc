#pragma once

#include <cstdint>

namespace remotecl {

// The time of this machine's clock in ns: what every time that an application sees counts in. The raw one, which runs
// as evenly as a device's; others are sped up and slowed down while they follow the network's time.
std::uint64_t host_time_ns();

// How far another clock is from the host's, from readings of it over a network, as NTP does it: in the reading with the
// shortest round trip the moment at which the other clock was read is known best. A value.
class ClockEstimate {
 public:
  struct Reading {
    std::uint64_t sent_ns;      // host clock
    std::uint64_t clock_ns;     // the other clock, at some time in between
    std::uint64_t received_ns;  // host clock

    std::uint64_t round_trip_ns() const { return received_ns - sent_ns; }
    // The host's time when the other clock was read, as well as one can tell.
    std::uint64_t host_ns() const { return sent_ns + round_trip_ns() / 2; }
  };

  void add(const Reading& reading) {
    if (known_ && reading.round_trip_ns() >= best_.round_trip_ns()) return;
    best_ = reading;
    known_ = true;
  }
  // To be added, with wrap-around, to the other clock's times. 0 without a reading.
  std::uint64_t offset_ns() const { return known_ ? best_.host_ns() - best_.clock_ns : 0; }

 private:
  Reading best_{};
  bool known_ = false;
};

}  // namespace remotecl
