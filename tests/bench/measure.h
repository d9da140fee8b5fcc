#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace remotecl::bench {

// The three things every case compares: the product, the native driver in this process, and bare TCP. Some compare the
// product with itself too: `base` is the simpler operation whose multiple the case may take.
template <typename T>
struct PerSide {
  T remotecl{};
  T native{};
  T raw{};
  T base{};
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// How one side performs a case. `sample` does one repetition and returns the seconds it took; it times
// itself, so that preparation and verification stay outside. `check` verifies after a block of samples.
struct Runner {
  std::function<double()> sample;
  std::function<void()> check;

  explicit operator bool() const { return static_cast<bool>(sample); }
};

struct Plan {
  size_t repetitions = 0;
  // Consecutive repetitions on one side before the next side has its turn. Small operations need a few to
  // get past the cold caches that the turn itself causes; bulk operations take turns one by one.
  size_t block = 1;
  size_t warm_up = 1;
};

struct Summary {
  double median = 0;
  double p99 = 0;
  double max = 0;
};

using Samples = PerSide<std::vector<double>>;

Summary summarize(std::vector<double> samples);

// Runs the sides in turns, so that a drift of the machine hits all of them alike. Sides without a runner
// stay empty.
Samples run_interleaved(const Plan& plan, const PerSide<Runner>& runners);

}  // namespace remotecl::bench
