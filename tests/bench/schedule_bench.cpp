// What a decision of the scheduler costs: remotecl-schedule-bench prints the time of each policy with 1 to 1,024
// devices; remotecl-schedule-bench COUNT [POLICY [DEVICES]] only decides that often, to be counted by callgrind.
// Figures for people; asserts nothing.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "extras/scheduling/schedule/named_policies.h"
#include "extras/scheduling/schedule/scheduler.h"
#include "measure.h"
#include "run_bench.h"
#include "runtime/base/index_set.h"

namespace remotecl::bench {
namespace {

using namespace remotecl::schedule;

constexpr std::size_t kDecisions = 20'000;
constexpr std::size_t kInFlight = 64;
constexpr std::size_t kKernels = 20;
constexpr BufferId kBuffers = 200;
constexpr std::uint64_t kBytes = 4 << 20;
constexpr double kItems = 1 << 20;

// Of this thread; what others do meanwhile on a busy machine does not count.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Each buffer is on one device and maybe on two more, and some are in this process too.
class RandomResidency : public Residency {
 public:
  RandomResidency(std::size_t devices, std::mt19937& random) : holders_(kBuffers) {
    for (IndexSet& holders : holders_) {
      for (auto count = 1 + random() % 3; count > 0; --count) holders.add(random() % static_cast<DeviceId>(devices));
    }
  }
  void find(const Access& access, std::vector<Segment>& out) const override {
    out.push_back({access.bytes, &holders_[access.buffer], access.buffer % 4 == 0});
  }

 private:
  std::vector<IndexSet> holders_;
};

// A program that has run for a while: kernels of 0.1 to 10 ms that are measured nearly everywhere, two buffers to read
// and one to write, others' work on half of the devices.
class Program {
 public:
  Program(std::string_view policy, std::size_t devices)
      : devices_(devices), residency_(devices, random_), scheduler_(make_policy(policy), residency_) {
    for (std::size_t device = 0; device < devices; ++device) add_device();
    for (std::size_t kernel = 0; kernel < kKernels; ++kernel) add_kernel();
    scheduler_.set_policy(make_policy(policy));
  }

  // One decision; what was decided some time ago ends.
  double decide() {
    const Access accesses[] = {{random_() % kBuffers, 0, kBytes, true, false},
                               {random_() % kBuffers, 0, kBytes, true, false},
                               {random_() % kBuffers, 0, kBytes, false, true}};
    const Ticket after[] = {in_flight_.empty() ? 0 : in_flight_.back().ticket};
    const Task task{.kernel = static_cast<KernelId>(random_() % kKernels),
                    .size = kItems,
                    .accesses = accesses,
                    .after = std::span(after).first(random_() % 2),
                    .named = static_cast<DeviceId>(random_() % devices_)};
    now_ += 1e-4;
    const double before = processor_seconds();
    const Placement placement = scheduler_.place(task, now_);
    const double seconds = processor_seconds() - before;
    if (placement.device == kNoDevice) throw std::runtime_error("no device was chosen");
    in_flight_.push_back(placement);
    if (in_flight_.size() > kInFlight) end_first();
    return seconds;
  }

 private:
  void add_device() {
    const ServerId server = scheduler_.add_server({1e9 * (1 + random_() % 10), 1e-4}, {1e10, 1e-6});
    const DeviceId device = scheduler_.add_device(
        {.server = server, .type = static_cast<DeviceType>(random_() % 3), .speed = 1.0 + random_() % 50});
    if (random_() % 2) scheduler_.report(device, {1e-3 * (random_() % 100), 1.0 + random_() % 5}, 0);
  }
  // A tenth of the devices has not run it.
  void add_kernel() {
    const KernelId kernel = scheduler_.add_kernel("kernel");
    scheduler_.set_policy(make_policy("static"));
    for (DeviceId device = 0; device < devices_; ++device) {
      if (random_() % 10 == 0) continue;
      for (const double size : {kItems / 4, kItems * 3}) {
        const Task task{.kernel = kernel, .size = size, .accesses = {}, .after = {}, .named = device};
        const double seconds = 1e-4 * std::pow(100, random_() % 1000 / 1000.0);
        scheduler_.finished(scheduler_.place(task, 0).ticket, seconds, 0);
      }
    }
  }
  void end_first() {
    const Placement& first = in_flight_.front();
    scheduler_.finished(first.ticket, first.estimate.seconds, std::max(now_, first.estimate.finish));
    in_flight_.pop_front();
  }

  const std::size_t devices_;
  std::mt19937 random_{1};
  RandomResidency residency_;
  Scheduler scheduler_;
  std::deque<Placement> in_flight_;
  Time now_ = 0;
};

void show(std::string_view policy, std::size_t devices) {
  Program program(policy, devices);
  for (std::size_t i = 0; i < kDecisions / 10; ++i) program.decide();
  std::vector<double> samples;
  for (std::size_t i = 0; i < kDecisions; ++i) samples.push_back(program.decide());
  const Summary times = summarize(samples);
  std::printf("%-16s %5zu devices: median %6.2f us   p99 %6.2f us   max %6.2f us\n", std::string(policy).c_str(),
              devices, times.median * 1e6, times.p99 * 1e6, times.max * 1e6);
}

int run(int argc, char** argv) {
  if (argc > 1) {
    Program program(argc > 2 ? argv[2] : kDefaultPolicy, argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 16);
    for (unsigned long left = std::strtoul(argv[1], nullptr, 10); left > 0; --left) program.decide();
    return 0;
  }
  for (const std::size_t devices : {1, 4, 16, 64, 256, 1024}) {
    for (const std::string_view policy : policy_names()) show(policy, devices);
  }
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  return remotecl::bench::run_bench("remotecl-schedule-bench", remotecl::bench::run, argc, argv);
}
