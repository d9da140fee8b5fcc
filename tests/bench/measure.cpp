#include "measure.h"

#include <algorithm>
#include <cmath>

namespace remotecl::bench {
namespace {

// Nearest rank: the smallest sample that at least `fraction` of all samples do not exceed.
double quantile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

void run_block(const Runner& runner, size_t count, std::vector<double>* samples) {
  if (!runner || count == 0) return;
  for (size_t i = 0; i < count; ++i) {
    const double seconds = runner.sample();
    if (samples) samples->push_back(seconds);
  }
  if (runner.check) runner.check();
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {median, quantile(samples, 0.99), samples.back()};
}

Samples run_interleaved(const Plan& plan, const PerSide<Runner>& runners) {
  run_block(runners.remotecl, plan.warm_up, nullptr);
  run_block(runners.native, plan.warm_up, nullptr);
  run_block(runners.raw, plan.warm_up, nullptr);
  run_block(runners.base, plan.warm_up, nullptr);
  Samples samples;
  for (size_t done = 0; done < plan.repetitions;) {
    const size_t count = std::min(plan.block, plan.repetitions - done);
    run_block(runners.remotecl, count, &samples.remotecl);
    run_block(runners.native, count, &samples.native);
    run_block(runners.raw, count, &samples.raw);
    run_block(runners.base, count, &samples.base);
    done += count;
  }
  return samples;
}

}  // namespace remotecl::bench
