#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// A range of one dimension of an NDRange, for one device.
struct Piece {
  std::uint32_t device = 0;  // an index into the speeds
  std::uint64_t begin = 0;
  std::uint64_t count = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// One piece for each device, in proportion to its speed (any unit; none below 0) and in order of devices. Each begins
// at a multiple of `granularity`, the work-group's size; the last one may end elsewhere. Devices that would get nothing
// have no piece. Whole groups are dealt by the largest remainder, so that no device's share is off by more than one.
// REQUIRES: granularity > 0, and a speed above 0.
std::vector<Piece> split_in_proportion(std::span<const double> speeds, std::uint64_t items, std::uint64_t granularity);

// How many items a device that is idle takes of `remaining`: the share that its speed gives it of one part in `divisor`
// of them, so that pieces shrink and all devices end at about the same time even if the speeds are wrong; rounded up to
// `granularity`, at least `piece_min`, at most all. Guided self-scheduling (Polychronopoulos and Kuck 1987) with the
// speeds of HGuided (Nozal, Bosque, Beivide, "EngineCL: usability and performance in heterogeneous computing", 2020).
// REQUIRES: as above; device < speeds.size(); divisor >= 1.
std::uint64_t next_piece(std::span<const double> speeds, std::size_t device, std::uint64_t remaining,
                         std::uint64_t granularity, std::uint64_t piece_min, double divisor = 2);

// One NDRange that is divided while it runs: each device takes its next piece when it has ended the one before, and
// the speeds follow what is measured. The first piece of each is small, because nothing mends one that is too large.
class Division {
 public:
  // `speeds`: expected, in any unit. REQUIRES: as above, all speeds above 0.
  Division(std::vector<double> speeds, std::uint64_t items, std::uint64_t granularity, std::uint64_t piece_min = 0);

  // The next piece of a device; its count is 0 if nothing is left.
  Piece take(std::uint32_t device);
  // A piece has ended, after `seconds` with its transfers.
  void ended(const Piece& piece, Seconds seconds);
  // A device has failed: its piece is dealt again.
  void give_back(const Piece& piece) { returned_.push_back(piece); }

  bool all_taken() const { return next_ == items_ && returned_.empty(); }
  // Items per second once a piece has ended; those of devices that have ended none are what was expected, next to the
  // others.
  const std::vector<double>& speeds() const { return speeds_; }

 private:
  const std::vector<double> expected_;
  std::vector<double> measured_;  // 0: not yet
  std::vector<double> speeds_;
  const std::uint64_t items_, granularity_, piece_min_;
  std::uint64_t next_ = 0;
  std::vector<Piece> returned_;
};

}  // namespace remotecl::schedule
