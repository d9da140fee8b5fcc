#include "simulated_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace remotecl::schedule {

std::uint64_t SimulatedDevices::bring(const Piece& piece) {
  std::uint64_t moved = 0;
  for (std::uint64_t at = piece.begin; at < piece.begin + piece.count; ++at) {
    if (devices[at] != piece.device && devices[at] != kNoDevice) ++moved;
    devices[at] = piece.device;
  }
  return moved;
}

Time SimulatedDevices::end_of(const Queue& queue) const {
  if (queue.pieces.empty()) return std::numeric_limits<double>::infinity();
  const Queued& first = queue.pieces.front();
  const Time begin = std::max(queue.free_at, first.arrived);
  const auto items = static_cast<double>(first.piece.count);
  const double speed = speeds[first.piece.device];
  if (const Seconds round = rounds.empty() ? 0 : rounds[first.piece.device]; round > 0) {
    return begin + std::ceil(items / speed / round) * round;
  }
  if (!change || change->device != first.piece.device) return begin + items / speed;
  const double before = std::clamp(change->at - begin, 0.0, items / speed);
  return begin + before + (items - before * speed) / change->speed;
}

SimulatedDevices::Ran SimulatedDevices::run(DivisionHistory& history, std::uint64_t items, std::uint64_t granularity,
                                            PieceCosts costs) {
  devices.resize(items, kNoDevice);
  history.speeds.resize(speeds.size());
  Division division(history, items, granularity, costs);
  std::vector<Queue> queues(speeds.size());
  std::vector<bool> covered(items);
  Ran ran;
  Time now = 0;
  const auto fill = [&] {
    for (const std::size_t ahead : Division::kFilling) {
      for (std::uint32_t device = 0; device < queues.size(); ++device) {
        Queue& queue = queues[device];
        if (queue.pieces.size() >= std::min(ahead, division.pieces_ahead(device))) continue;
        const Piece piece = division.take(device, now);
        if (piece.count == 0) continue;
        for (std::uint64_t at = piece.begin; at < piece.begin + piece.count; ++at) {
          EXPECT_FALSE(covered.at(at)) << at;
          covered[at] = true;
        }
        const std::uint64_t moved = bring(piece);
        queue.pieces.push_back({piece, now + latency + static_cast<double>(moved) * item});
        ran.moved += moved;
        ++ran.pieces;
      }
    }
  };
  for (fill();; fill()) {
    const auto first = std::min_element(queues.begin(), queues.end(),
                                        [this](const Queue& a, const Queue& b) { return end_of(a) < end_of(b); });
    if (first->pieces.empty()) break;
    first->free_at = end_of(*first);
    now = std::max(now, first->free_at + latency);
    division.ended(first->pieces.front().piece, now);
    first->pieces.erase(first->pieces.begin());
    ran.seconds = std::max(ran.seconds, first->free_at);
  }
  EXPECT_TRUE(division.all_taken());
  EXPECT_EQ(std::count(covered.begin(), covered.end(), false), 0);
  history = division.learned(now);
  ran.shares = history.shares;
  ran.efficiency =
      static_cast<double>(items) / std::accumulate(speeds.begin(), speeds.end(), 0.0) / std::max(ran.seconds, 1e-300);
  return ran;
}

}  // namespace remotecl::schedule
