#include "lower_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace remotecl::schedule {
namespace {

constexpr int kSteps = 300;
constexpr int kMoments = 96;

using Prices = std::vector<double>;

// Items of each kernel that arrive from `from` on.
std::vector<double> work(const Trace& trace, Time from) {
  std::vector<double> items(trace.seconds_per_item.size());
  for (const TraceJob& job : trace.jobs) {
    if (job.arrival < from) continue;
    for (const TraceTask& task : job.tasks) items[task.kernel] += task.size;
  }
  return items;
}

double least_cost(const std::vector<double>& seconds_per_item, const Prices& prices) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t device = 0; device < prices.size(); ++device) {
    if (seconds_per_item[device] > 0) least = std::min(least, seconds_per_item[device] * prices[device]);
  }
  return least;
}

Seconds bound(const Trace& trace, const std::vector<double>& items, const Prices& prices) {
  double cost = 0;
  for (std::size_t kernel = 0; kernel < items.size(); ++kernel) {
    cost += items[kernel] * least_cost(trace.seconds_per_item[kernel], prices);
  }
  return cost / std::accumulate(prices.begin(), prices.end(), 0.0);
}

// Work goes where it is cheapest, or nearly so; then devices with much work become dearer.
Prices step(const Trace& trace, const std::vector<double>& items, const Prices& prices, double rate) {
  constexpr double kSharpness = 30;
  std::vector<double> load(prices.size());
  for (std::size_t kernel = 0; kernel < items.size(); ++kernel) {
    const std::vector<double>& each = trace.seconds_per_item[kernel];
    const double least = least_cost(each, prices);
    std::vector<double> share(prices.size());
    for (std::size_t device = 0; device < prices.size(); ++device) {
      if (each[device] > 0)
        share[device] = std::exp(-kSharpness * (each[device] * prices[device] / least - 1)) / each[device];
    }
    const double sum = std::accumulate(share.begin(), share.end(), 0.0);
    for (std::size_t device = 0; device < prices.size(); ++device) {
      load[device] += items[kernel] * share[device] / sum * each[device];
    }
  }
  const double mean = std::accumulate(load.begin(), load.end(), 0.0) / static_cast<double>(load.size());
  Prices result = prices;
  for (std::size_t device = 0; device < prices.size(); ++device) {
    result[device] *= std::exp(rate * std::clamp(load[device] / mean - 1, -1.0, 1.0));
  }
  return result;
}

Prices good_prices(const Trace& trace) {
  const std::vector<double> items = work(trace, 0);
  Prices prices;
  for (const Device& device : trace.devices) prices.push_back(device.speed);
  Prices best = prices;
  for (int at = 0; at < kSteps; ++at) {
    prices = step(trace, items, prices, 0.1 / (1 + 0.03 * at));
    if (bound(trace, items, prices) > bound(trace, items, best)) best = prices;
  }
  return best;
}

}  // namespace

Time lower_bound(const Trace& trace) {
  const Prices prices = good_prices(trace);
  Time result = 0;
  for (int at = 0; at < kMoments; ++at) {
    const Time from = Trace::kDay * at / kMoments;
    if (trace.jobs.back().arrival < from) break;
    result = std::max(result, from + bound(trace, work(trace, from), prices));
  }
  for (const TraceJob& job : trace.jobs) result = std::max(result, job.arrival + trace.critical_path(job));
  return result;
}

}  // namespace remotecl::schedule
