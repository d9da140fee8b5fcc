#include "extras/scheduling/schedule/division.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace remotecl::schedule {
namespace {

// The part of what a device should still do that it takes as its next piece.
constexpr double kPart = 1.0 / 3;
// A piece that is too large cannot be corrected, and devices may differ by a factor of a thousand, so a device whose
// speed is not known begins with a tiny piece. Each further piece is larger, until one takes long next to a launch.
constexpr double kProbe = 1.0 / 65536, kProbeMax = 1.0 / 32, kProbeGrowth = 8;
// Pieces are not smaller than this part of their device's region, nor shorter than so many launches.
constexpr double kPieceMin = 1.0 / 64, kLaunchesMin = 10;
// Regions stay if that makes a launch this much longer at most, because moving bytes costs more.
constexpr double kKeepTolerance = 1.05;
// A device leaves its region to others if it would delay the end by this part of the launch. For less, moving the bytes
// does not pay.
constexpr double kTooLate = 0.05;
// A piece that should take less than this many times the shortest one may be as short as the device can do it.
constexpr double kShort = 2;
// What made a device look slow may have been chance, so it counts for less in each launch in which it has no piece.
constexpr double kForget = 0.99;
// Measurements of devices with less than this part of all speed say nothing of the other devices.
constexpr double kRepresentative = 0.2;
// A launch that ends while a piece is overdue lowers its device's speed, but not below this part of it.
constexpr double kSlower = 1.0 / 16;
// By how much launches of the same work vary.
constexpr double kVariation = 1.5;

std::uint64_t at_most(double count, std::uint64_t max) {
  return count < static_cast<double>(max) ? static_cast<std::uint64_t>(std::max(count, 0.0)) : max;
}

}  // namespace

Division::Division(DivisionHistory history, std::uint64_t items, std::uint64_t granularity, PieceCosts costs)
    : items_(items), granularity_(granularity), costs_(costs), devices_(history.speeds.size()) {
  for (std::size_t at = 0; at < devices_.size(); ++at) {
    devices_[at].expected = history.speeds[at];
    if (at < history.shortest.size()) devices_[at].expected_shortest = history.shortest[at];
  }
  estimate_speeds();
  if (items > 0) left_.push_back({0, items, 0});
  std::vector<Piece> regions = split_in_proportion(all_speeds(), items, granularity);
  if (std::ranges::any_of(history.shares, [](double share) { return share > 0; })) {
    std::vector<Piece> former = split_in_proportion(history.shares, items, granularity);
    if (longest(former) <= longest(regions) * kKeepTolerance) regions.swap(former);
  }
  set_regions(regions);
}

void Division::set_regions(const std::vector<Piece>& regions) {
  shares_.assign(devices_.size(), 0);
  std::vector<Range> owned;
  for (const Piece& region : regions) {
    shares_[region.device] = static_cast<double>(region.count);
    for (const Range& range : left_) {
      const std::uint64_t begin = std::max(range.begin, region.begin);
      const std::uint64_t end = std::min(range.end, region.begin + region.count);
      if (begin < end) owned.push_back({begin, end, region.device});
    }
  }
  left_.swap(owned);
}

Seconds Division::longest(const std::vector<Piece>& regions) const {
  Seconds longest = 0;
  for (const Piece& region : regions) {
    longest = std::max(longest, static_cast<double>(region.count) / speed_of(region.device));
  }
  return longest;
}

double Division::measured_speed(const Device& device) const {
  // Ends that are reported at the same time say nothing of the time between them.
  return device.seconds > costs_.launch * kLaunchesMin ? device.items / device.seconds : 0;
}

double Division::scale() const {
  double measured = 0, expected = 0, all = 0;
  for (const Device& device : devices_) {
    all += device.expected;
    if (!(device.expected > 0) || !(measured_speed(device) > 0)) continue;
    measured += measured_speed(device);
    expected += device.expected;
  }
  return expected > 0 && expected >= all * kRepresentative ? measured / expected : 1;
}

void Division::estimate_speeds() {
  const double scale = this->scale();
  double sum = 0, known = 0;
  for (Device& device : devices_) {
    device.speed = measured_speed(device) > 0 ? measured_speed(device)
                   : device.first > 0         ? device.first
                                              : device.expected * scale;
    sum += device.speed;
    known += device.speed > 0 ? 1 : 0;
  }
  if (known > 0) mean_ = sum / known;
}

std::vector<double> Division::all_speeds() const {
  std::vector<double> speeds;
  for (std::uint32_t at = 0; at < devices_.size(); ++at) speeds.push_back(speed_of(at));
  return speeds;
}

std::uint64_t Division::left_of(std::uint32_t device) const {
  std::uint64_t left = 0;
  for (const Range& range : left_) left += range.owner == device ? range.end - range.begin : 0;
  return left;
}

std::uint64_t Division::piece_min(std::uint32_t device) const {
  const double min = std::max(shares_[device] * kPieceMin, devices_[device].speed * costs_.launch * kLaunchesMin);
  return at_most(std::ceil(min), items_);
}

double Division::probe_max(std::uint32_t device) const { return shares_[device] * kProbeMax; }

Piece Division::take(std::uint32_t device, Time now) {
  const auto is_own = [device](const Range& range) { return range.owner == device; };
  auto own = std::find_if(left_.begin(), left_.end(), is_own);
  if (own == left_.end()) {
    if (!steal(device, now)) return {device, 0, 0};
    own = std::find_if(left_.begin(), left_.end(), is_own);
  }
  std::uint64_t count = next_count(device, now);
  const std::uint64_t all = own->end - own->begin;
  if (const std::uint64_t rest = count % granularity_; rest != 0) count += std::min(granularity_ - rest, ~count);
  if (count >= all || all - count < piece_min(device)) count = all;
  if (hand_over(device, count, now)) return {device, 0, 0};
  const Piece piece{device, own->begin, count};
  own->begin += count;
  if (own->begin == own->end) left_.erase(own);
  devices_[device].in_flight.push_back({piece.begin, count, now});
  return piece;
}

double Division::speed_max(std::uint32_t at, Time now) const {
  const Device& device = devices_[at];
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (device.in_flight.empty() || first_end_ < 0) return kAny;
  const InFlight& current = device.in_flight.front();
  // Devices mostly wait for the same things, so a first piece should have begun when a piece of any device ends.
  const Seconds passed = now - std::max(device.last_end < 0 ? first_end_ : device.last_end, current.taken);
  return passed > 0 ? static_cast<double>(current.count) / passed : kAny;
}

Time Division::free_at(std::uint32_t at, Time now) const {
  const Device& device = devices_[at];
  if (device.in_flight.empty()) return now;
  double items = 0;
  for (const InFlight& piece : device.in_flight) items += static_cast<double>(piece.count);
  // Before any piece has ended nobody knows when the first one began.
  const Time begin = device.last_end < 0 ? now : std::max(device.last_end, device.in_flight.front().taken);
  return begin + items / speed_at(at, now);
}

Time Division::ideal_end(Time now) const {
  double work = 0, speed = 0;
  for (std::uint32_t at = 0; at < devices_.size(); ++at) {
    const double each = speed_at(at, now);
    work += (free_at(at, now) - now) * each + static_cast<double>(left_of(at));
    speed += each;
  }
  return now + work / speed;
}

std::uint64_t Division::next_count(std::uint32_t device, Time now) const {
  const std::uint64_t left = left_of(device);
  const double next_probe = std::max(devices_[device].tried * kProbeGrowth, std::ceil(shares_[device] * kProbe));
  if (!(devices_[device].speed > 0)) return at_most(std::min(next_probe, std::ceil(probe_max(device))), left);
  const double fair = (ideal_end(now) - free_at(device, now)) * speed_at(device, now);
  const std::uint64_t count = std::max({at_most(fair * kPart, left), piece_min(device), std::uint64_t{1}});
  // While some speeds are not known, the fair count is a guess.
  const bool all_known = std::ranges::all_of(devices_, [](const Device& one) { return one.speed > 0; });
  return all_known || !(devices_[device].tried > 0) ? count : at_most(next_probe, count);
}

Seconds Division::shortest(std::uint32_t at) const {
  const Device& device = devices_[at];
  return device.shortest > 0 ? device.shortest : device.expected_shortest / scale();
}

Time Division::end_with(std::uint32_t at, double items, Time now) const {
  return free_at(at, now) + std::max(items / speed_at(at, now), shortest(at));
}

bool Division::hand_over(std::uint32_t from, std::uint64_t count, Time now) {
  const Seconds expected = static_cast<double>(count) / speed_of(from);
  if (!(devices_[from].speed > 0) || expected >= shortest(from) * kShort) return false;
  const auto left = static_cast<double>(left_of(from));
  const std::vector<double> speeds = all_speeds();
  const Seconds all = static_cast<double>(items_) / std::accumulate(speeds.begin(), speeds.end(), 0.0);
  Time first_end = end_with(from, static_cast<double>(count), now) - all * kTooLate;
  std::uint32_t first = from;
  for (std::uint32_t at = 0; at < devices_.size(); ++at) {
    if (at == from || !(devices_[at].speed > 0)) continue;
    const double items = static_cast<double>(left_of(at)) + left;
    const Time end = end_with(at, items, now) + costs_.launch + left * costs_.item;
    if (end >= first_end) continue;
    first = at;
    first_end = end;
  }
  if (first == from) return false;
  for (Range& range : left_) {
    if (range.owner == from) range.owner = first;
  }
  // Joins neighbouring ranges, because a piece never goes beyond a range.
  for (std::size_t at = 1; at < left_.size();) {
    if (left_[at - 1].owner == left_[at].owner && left_[at - 1].end == left_[at].begin) {
      left_[at - 1].end = left_[at].end;
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      ++at;
    }
  }
  return true;
}

bool Division::steal(std::uint32_t thief, Time now) {
  if (!(devices_[thief].speed > 0)) return false;
  Range* last = nullptr;
  Time last_end = 0;
  for (Range& range : left_) {
    const Time end = end_of(range.owner, now);
    if (last != nullptr && end < last_end) continue;
    last = &range;
    last_end = end;
  }
  if (last == nullptr || end_with(thief, 0, now) > last_end) return false;
  // As many items as make both devices end at the same time.
  const Seconds saved = 1 / speed_of(last->owner), needed = 1 / devices_[thief].speed + costs_.item;
  const double wanted = (last_end - end_of(thief, now) - costs_.launch) / (saved + needed);
  const std::uint64_t count = at_most(wanted, last->end - last->begin);
  const bool pays = static_cast<double>(count) * (saved - costs_.item) > costs_.launch;
  if (!pays || count < piece_min(last->owner)) return false;

  std::uint64_t cut = last->end - count;
  if (const std::uint64_t rest = cut % granularity_; rest != 0) {
    if (granularity_ - rest >= last->end - cut) return false;
    cut += granularity_ - rest;
  }
  if (cut == last->end) return false;
  const Range stolen{cut, last->end, thief};
  const auto at = left_.begin() + (last - left_.data());
  if (cut == last->begin) {
    last->owner = thief;
  } else {
    last->end = cut;
    left_.insert(at + 1, stolen);
  }
  return true;
}

void Division::ended(const Piece& piece, Time now) {
  Device& device = devices_[piece.device];
  const auto at = std::find_if(device.in_flight.begin(), device.in_flight.end(),
                               [&piece](const InFlight& one) { return one.begin == piece.begin; });
  if (at == device.in_flight.end()) return;
  const Seconds seconds = now - std::max(device.last_end, at->taken);
  const bool was_known = device.speed > 0, had_waited = was_known && device.last_end >= at->taken;
  const bool is_first = device.last_end < 0;
  const auto count = static_cast<double>(piece.count);
  double tried = count;
  if (had_waited) {
    device.items += count;
    device.seconds += std::max(seconds, 0.0);
  } else if (!(device.first > 0) && seconds > 0) {
    const bool is_long = seconds >= costs_.launch * kLaunchesMin;
    if (was_known || count >= probe_max(piece.device) || (is_long && !is_first)) device.first = count / seconds;
    // The piece may have waited for what this device alone waits for, such as its bytes or a compiler, so its size is
    // tried again.
    if (!was_known && is_long && is_first) {
      tried /= kProbeGrowth;
      device.doubtful = count / seconds;
    }
  }
  device.tried = std::max(device.tried, tried);
  if (seconds > 0 && (!(device.shortest > 0) || seconds < device.shortest)) device.shortest = seconds;
  device.last_end = now;
  if (first_end_ < 0) first_end_ = now;
  device.in_flight.erase(at);
  estimate_speeds();
  if (!was_known && device.speed > 0) set_regions(split_in_proportion(all_speeds(), items_, granularity_));
}

DivisionHistory Division::learned(Time now) const {
  DivisionHistory history{{}, shares_, {}};
  const double scale = this->scale();
  for (std::uint32_t at = 0; at < devices_.size(); ++at) {
    const Device& device = devices_[at];
    const double expected = device.expected * scale, measured = measured_speed(device);
    // The launch before counts for half, because single launches vary, unless it was wrong altogether.
    const bool is_like_before = measured > expected / kVariation && measured < expected * kVariation;
    double speed = is_like_before                    ? (expected + measured) / 2
                   : measured > 0 || !(expected > 0) ? device.speed
                                                     : std::max(expected, device.first);
    if (!(speed > 0)) speed = device.doubtful;
    if (device.last_end < 0 && device.in_flight.empty()) speed /= kForget;
    // If a device is much slower than was known, its pieces may all be in flight still, or wait for something.
    history.speeds.push_back(std::min(speed, std::max(speed_max(at, now), speed * kSlower)));
    history.shortest.push_back(device.shortest > 0 ? device.shortest : device.expected_shortest / scale * kForget);
  }
  return history;
}

}  // namespace remotecl::schedule
