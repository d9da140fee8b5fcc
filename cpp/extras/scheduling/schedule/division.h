#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "extras/scheduling/schedule/ids.h"
#include "extras/scheduling/schedule/split.h"

namespace remotecl::schedule {

// What one launch of a kernel teaches the next. A value.
struct DivisionHistory {
  std::vector<double> speeds;  // items per second, by device; 0: not known
  std::vector<double> shares;  // of the range, by device: their regions; empty: it was never divided among them
  // By device, the time of its shortest piece; 0 or missing: not known.
  std::vector<Seconds> shortest{};
};

// What a piece costs beside its work.
struct PieceCosts {
  Seconds launch = 0;
  Seconds item = 0;  // to move what an item reads to another device
};

// One NDRange that is divided while it runs. Each device owns a region, in proportion to its speed, and takes pieces
// from its front: a third of what it should still do each time, so that few are launched and all devices end at about
// the same time even if the speeds are a little wrong. A device whose region is empty steals from the end of the region
// of the device that would end last, if that saves more than it costs. A device whose shortest piece takes longer than
// others need for all that it has left hands that over to them, as a processor does beside a graphics card.
//
// Regions stay as they were in the launch before as long as the speeds allow, so that the bytes stay, too. A device
// whose speed is not known begins with small pieces, and regions are laid out again when its speed is measured.
//
// Guided self-scheduling (Polychronopoulos and Kuck 1987) with the speeds of HGuided (Nozal, Bosque, Beivide,
// "EngineCL: usability and performance in heterogeneous computing", 2020), in regions.
class Division {
 public:
  // REQUIRES: granularity > 0; history.speeds has at least one device, history.shares as many or none.
  Division(DivisionHistory history, std::uint64_t items, std::uint64_t granularity, PieceCosts costs = {});

  // How many pieces a device should have at a time: one until its speed is known, then kPiecesAhead, so that it need
  // not wait for the network between them.
  static constexpr std::size_t kPiecesAhead = 2;
  // The rounds that bring all devices to so many pieces: a device without a piece takes one before others take their
  // second, and in the end devices without pieces take what another has handed over to them.
  static constexpr std::array<std::size_t, 3> kFilling{1, kPiecesAhead, 1};
  std::size_t pieces_ahead(std::uint32_t device) const { return devices_[device].speed > 0 ? kPiecesAhead : 1; }
  // The next piece of a device; its count is 0 if there is none for it now. A device begins one piece after the other.
  Piece take(std::uint32_t device, Time now);
  // A piece of take() has ended.
  void ended(const Piece& piece, Time now);

  bool all_taken() const { return left_.empty(); }
  const std::vector<double>& shares() const { return shares_; }
  // For the next launch.
  DivisionHistory learned(Time now) const;

 private:
  struct InFlight {
    std::uint64_t begin, count;
    Time taken;
  };
  struct Device {
    double expected = 0;  // of the launch before; 0: not known
    double speed = 0;     // the best estimate; 0: none
    double first = 0;     // of the first piece, which may have waited for other work and for its bytes; 0: not known
    double doubtful = 0;  // of a first piece of a device that was not known
    double tried = 0;     // items of its largest piece that has ended
    Seconds shortest = 0, expected_shortest = 0;  // of its pieces, in this launch and in those before; 0: not known
    // Sums over pieces that were there when the piece before them ended, so that only the device's speed counts.
    double items = 0;
    Seconds seconds = 0;
    std::deque<InFlight> in_flight;
    Time last_end = -1;  // below 0: no piece has ended
  };
  struct Range {
    std::uint64_t begin, end;
    std::uint32_t owner;
  };

  void set_regions(const std::vector<Piece>& regions);
  Seconds longest(const std::vector<Piece>& regions) const;
  // 0: not known.
  double measured_speed(const Device& device) const;
  // The factor by which expected speeds are multiplied to compare them with the measured ones.
  double scale() const;
  void estimate_speeds();
  // Never 0.
  double speed_of(std::uint32_t device) const { return devices_[device].speed > 0 ? devices_[device].speed : mean_; }
  std::vector<double> all_speeds() const;
  std::uint64_t left_of(std::uint32_t device) const;
  std::uint64_t piece_min(std::uint32_t device) const;
  double probe_max(std::uint32_t device) const;
  // The highest speed at which the piece in progress cannot have ended by now.
  double speed_max(std::uint32_t device, Time now) const;
  double speed_at(std::uint32_t device, Time now) const { return std::min(speed_of(device), speed_max(device, now)); }
  // When the pieces in flight will have ended; with end_of(), also what is left of the region.
  Time free_at(std::uint32_t device, Time now) const;
  Time end_of(std::uint32_t device, Time now) const {
    return free_at(device, now) + static_cast<double>(left_of(device)) / speed_at(device, now);
  }
  // When all devices would end if everything that is left could be divided as finely as one likes.
  Time ideal_end(Time now) const;
  std::uint64_t next_count(std::uint32_t device, Time now) const;
  bool steal(std::uint32_t thief, Time now);
  Seconds shortest(std::uint32_t device) const;
  // When the device would have done what it has in flight and these items.
  Time end_with(std::uint32_t device, double items, Time now) const;
  // Gives all that is left of the device's region to another one if that ends before the device would end a piece.
  bool hand_over(std::uint32_t device, std::uint64_t count, Time now);

  const std::uint64_t items_, granularity_;
  const PieceCosts costs_;
  std::vector<Device> devices_;
  double mean_ = 1;             // of the speeds that are known
  Time first_end_ = -1;         // of a piece of any device; below 0: none has ended
  std::vector<Range> left_;     // not taken yet, in order
  std::vector<double> shares_;  // items of the regions, by device
};

}  // namespace remotecl::schedule
