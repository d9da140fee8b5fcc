#include <algorithm>

#include "cases.h"
#include "pattern.h"

namespace remotecl::bench {
namespace {

constexpr double kKernelSeconds = 5e-3;
constexpr cl_uint kRoundsFirst = 1000;
constexpr cl_uint kRoundsMax = 1u << 30;

// A long kernel on every place of a fleet.
class LongKernels {
 public:
  LongKernels(const Fleet& fleet, cl_uint rounds) : fleet_(fleet), rounds_(rounds) {
    expected_ = computed_word(kSeed, rounds);
    for (size_t index = 0; index < fleet.size(); ++index) {
      results_.push_back(fleet.make_buffer(sizeof(cl_int)));
      profiling_queues_.push_back(make_queue(fleet.context(), fleet.device(index), CL_QUEUE_PROFILING_ENABLE));
    }
  }

  // All at once, enqueued and never flushed, and waited for one after the other.
  double finish_in_turn() {
    clear();
    const Stopwatch watch;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      fleet_.compute(fleet_.queue(index), results_[index], kSeed, rounds_);
    }
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.finish(index);
    const double seconds = watch.seconds();
    verify();
    return seconds;
  }

  // One at a time, as the devices' clocks have it: the longest one.
  double longest_alone() {
    clear();
    double longest = 0;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      cl_event event = nullptr;
      fleet_.compute(profiling_queues_[index].get(), results_[index], kSeed, rounds_, &event);
      const Event owner(event);
      ClSide::finish(profiling_queues_[index].get());
      longest = std::max(longest, duration(event));
    }
    verify();
    return longest;
  }

 private:
  static constexpr cl_uint kSeed = 0x9e3779b9u;

  static double duration(cl_event event) {
    cl_ulong start = 0, end = 0;
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr),
          "clGetEventProfilingInfo");
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr),
          "clGetEventProfilingInfo");
    return static_cast<double>(end - start) * 1e-9;
  }

  void clear() const {
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.write_int(index, results_[index], 0);
    fleet_.finish_all();
  }

  void verify() const {
    for (size_t index = 0; index < fleet_.size(); ++index) {
      if (static_cast<cl_uint>(fleet_.read_int(index, results_[index])) == expected_) continue;
      throw DataError("long kernel " + std::to_string(index) + " on " + fleet_.name());
    }
  }

  const Fleet& fleet_;
  const cl_uint rounds_;
  cl_uint expected_;
  std::vector<Memory> results_;
  std::vector<Queue> profiling_queues_;
};

// So many rounds take about kKernelSeconds on the slowest device.
cl_uint calibrate(const Fleet& fleet) {
  for (cl_uint rounds = kRoundsFirst; rounds < kRoundsMax; rounds *= 4) {
    LongKernels kernels(fleet, rounds);
    kernels.longest_alone();
    const double seconds = kernels.longest_alone();
    if (seconds > kKernelSeconds / 3) return static_cast<cl_uint>(rounds * kKernelSeconds / seconds);
  }
  throw DataError("no number of rounds takes " + fleet.name() + " some milliseconds");
}

std::optional<Case> concurrent_kernels(const Bench& bench, Reach reach) {
  const Fleet& fleet = bench.fleets.remotecl_devices(reach);
  const cl_uint rounds = calibrate(fleet);
  Case result;
  result.ceiling = Ceiling::kRawPlusBase;
  result.target = Target{.rule = "1.05 x (one kernel + raw)" + on_devices(fleet.size()), .ceiling = 1.05};
  result.plan = {.repetitions = bench.options.quick ? 5u : 50u, .block = 5, .warm_up = 2};
  result.runners = on_all_devices(bench, reach, [rounds](const Fleet& on) -> Runner {
    auto kernels = std::make_shared<LongKernels>(on, rounds);
    return {[kernels] { return kernels->finish_in_turn(); }, {}};
  });
  auto lone = std::make_shared<LongKernels>(fleet, rounds);
  result.runners.base = {[lone] { return lone->longest_alone(); }, {}};
  result.runners.raw = raw_round_trip(bench);
  return result;
}

}  // namespace

void add_concurrent_cases(std::vector<CaseEntry>& cases, Reach reach) {
  cases.push_back(devices_entry("concurrent-kernels", reach,
                                [reach](const Bench& bench) { return concurrent_kernels(bench, reach); }));
}

}  // namespace remotecl::bench
