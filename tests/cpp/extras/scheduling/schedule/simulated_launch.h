#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "extras/scheduling/schedule/division.h"

namespace remotecl::schedule {

// Devices that run launches of one kernel, divided as a client divides them. Items stay where they ran last.
struct SimulatedDevices {
  std::vector<double> speeds{};  // items per second
  // A piece takes a multiple of so long, by device, as work-groups do on the cores of a processor; empty or 0: any
  // time.
  std::vector<Seconds> rounds{};
  Seconds latency = 0;  // until a piece can begin, and until its end is known
  Seconds item = 0;     // to bring an item from another device, while other pieces run
  // From some moment of the launch on a device has another speed.
  struct Change {
    std::uint32_t device;
    Time at;
    double speed;
  };
  std::optional<Change> change{};
  std::vector<std::uint32_t> devices{};  // of items; those that were nowhere yet have kNoDevice

  struct Ran {
    double efficiency = 0;  // of the sum of the speeds at the beginning
    Seconds seconds = 0;
    std::uint64_t pieces = 0, moved = 0;
    std::vector<double> shares;
  };
  // Learns for the next one. Adds failures to the test if items ran twice or not at all.
  Ran run(DivisionHistory& history, std::uint64_t items, std::uint64_t granularity, PieceCosts costs = {});

 private:
  struct Queued {
    Piece piece;
    Time arrived;
  };
  struct Queue {
    std::vector<Queued> pieces;
    Time free_at = 0;
  };

  Time end_of(const Queue& queue) const;
  std::uint64_t bring(const Piece& piece);
};

}  // namespace remotecl::schedule
