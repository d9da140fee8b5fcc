#include "runtime/schedule/parts.h"

#include <algorithm>
#include <limits>

namespace remotecl::schedule {
namespace {

// A part that takes less is left to the others.
constexpr Seconds kPartMin = 1e-3;
// How often shares are computed again with the times at the sizes that they lead to.
constexpr int kRounds = 6;

// When all workers that take part end at these paces: (end - start) / pace adds up to 1 over those that start before.
Time common_end(const std::vector<Worker>& workers, const std::vector<double>& paces) {
  std::vector<std::size_t> order(workers.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  std::ranges::sort(order, {}, [&](std::size_t at) { return workers[at].start; });
  double rate = 0, begun = 0;
  Time end = std::numeric_limits<Time>::infinity();
  for (const std::size_t at : order) {
    if (workers[at].start >= end) break;
    rate += 1 / paces[at];
    begun += workers[at].start / paces[at];
    end = (1 + begun) / rate;
  }
  return end;
}

std::vector<double> balanced(const std::vector<Worker>& workers, const PartTimes& seconds) {
  std::vector<double> shares(workers.size(), 1), paces(workers.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t at = 0; at < shares.size(); ++at) {
      if (shares[at] > 0) paces[at] = seconds(workers[at].device, shares[at]) / shares[at];
    }
    const Time end = common_end(workers, paces);
    for (std::size_t at = 0; at < shares.size(); ++at) {
      shares[at] = std::max(0.0, (end - workers[at].start) / paces[at]);
    }
  }
  return shares;
}

}  // namespace

std::vector<Part> balanced_parts(std::vector<Worker> workers, const PartTimes& seconds) {
  // Times count from the beginning of the work, because a clock that has run for days leaves too few digits for shares.
  if (workers.empty()) return {};
  const Time begin = std::ranges::min(workers, {}, &Worker::start).start;
  for (Worker& worker : workers) worker.start -= begin;
  while (!workers.empty()) {
    const std::vector<double> shares = balanced(workers, seconds);
    std::vector<Part> parts;
    std::size_t least = 0;
    Seconds least_seconds = std::numeric_limits<Seconds>::infinity();
    for (std::size_t at = 0; at < workers.size(); ++at) {
      const Seconds needed = shares[at] > 0 ? seconds(workers[at].device, shares[at]) : 0;
      if (needed < least_seconds) {
        least = at;
        least_seconds = needed;
      }
      parts.push_back({workers[at].device, shares[at]});
    }
    if (least_seconds >= kPartMin || workers.size() == 1) return parts;
    workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(least));
  }
  return {};
}

Time last_end(const std::vector<Part>& parts, const std::vector<Worker>& workers, const PartTimes& seconds) {
  Time last = 0;
  for (const Part& part : parts) {
    const auto worker = std::ranges::find(workers, part.device, &Worker::device);
    if (worker == workers.end()) return std::numeric_limits<Time>::infinity();
    last = std::max(last, worker->start + seconds(part.device, part.share));
  }
  return last;
}

}  // namespace remotecl::schedule
