#include "trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace remotecl::schedule {
namespace {

constexpr std::size_t kDevicesOfServer = 4;
constexpr std::size_t kKernels = 40;
constexpr std::size_t kKernelsOfUser = 3;

class Generator {
 public:
  explicit Generator(const TraceOptions& options) : options_(options), random_(options.seed) {}

  Trace make() {
    add_devices();
    add_kernels();
    for (std::size_t user = 0; user < options_.users; ++user) trace_.weights.push_back(user % 10 == 0 ? 4 : 1);
    for (std::size_t job = 0; job < options_.jobs; ++job) add_job();
    scale_to_load();
    std::sort(trace_.jobs.begin(), trace_.jobs.end(),
              [](const TraceJob& one, const TraceJob& other) { return one.arrival < other.arrival; });
    return std::move(trace_);
  }

 private:
  double between(double least, double most) { return std::uniform_real_distribution(least, most)(random_); }
  double log_between(double least, double most) { return least * std::pow(most / least, between(0, 1)); }

  void add_devices() {
    for (std::size_t device = 0; device < options_.devices; ++device) {
      const auto server = static_cast<ServerId>(device / kDevicesOfServer);
      if (device % kDevicesOfServer == 0) trace_.access.push_back({log_between(1e9, 1.2e10), between(5e-5, 5e-4)});
      const double kind = between(0, 1);
      Device added{.server = server};
      if (kind < 0.5) {
        added.type = DeviceType::kGpu;
        added.speed = log_between(10, 100);
      } else if (kind < 0.9) {
        added.type = DeviceType::kCpu;
        added.speed = log_between(2, 10);
      } else {
        added.type = DeviceType::kAccelerator;
        added.builds = false;
        added.speed = log_between(5, 50);
      }
      trace_.devices.push_back(added);
    }
  }

  // A kernel suits the types of devices differently well, and single ones too; declared speeds say nothing of this.
  void add_kernels() {
    for (std::size_t kernel = 0; kernel < kKernels; ++kernel) {
      double of_type[kDeviceTypes];
      for (double& factor : of_type) factor = log_between(1.0 / 3, 3);
      std::vector<double>& row = trace_.seconds_per_item.emplace_back();
      for (const Device& device : trace_.devices) {
        const bool runs = device.builds || between(0, 1) < 0.3;
        const double factor = of_type[static_cast<std::size_t>(device.type)] * log_between(0.8, 1.25);
        row.push_back(runs ? factor / device.speed : 0);
      }
    }
  }

  // Most in the middle of the day.
  Time arrival() {
    for (;;) {
      const double moment = between(0, 1);
      if (between(0, 2) < 1 - std::cos(2 * std::numbers::pi * moment)) return moment * Trace::kDay;
    }
  }

  void add_job() {
    TraceJob job;
    job.user = static_cast<std::uint32_t>(random_() % options_.users);
    job.arrival = arrival();
    job.bytes = static_cast<std::uint64_t>(log_between(1e8, 1e11));
    const auto kernel = static_cast<std::uint32_t>((job.user * kKernelsOfUser + random_() % kKernelsOfUser) % kKernels);
    const double size = log_between(1000, 30'000);
    const std::size_t width = random_() % 3 == 0 ? 1 + random_() % 8 : 1;
    const std::size_t length = 1 + random_() % 6;
    // Steps of `width` tasks that all follow the step before's.
    for (std::size_t step = 0; step < length; ++step) {
      for (std::size_t at = 0; at < width; ++at) {
        TraceTask task{.kernel = kernel, .size = size * between(0.7, 1.4), .after = {}};
        if (step > 0) task.after.push_back(static_cast<std::uint32_t>((step - 1) * width + at));
        if (step > 0 && width > 1)
          task.after.push_back(static_cast<std::uint32_t>((step - 1) * width + (at + 1) % width));
        job.tasks.push_back(std::move(task));
      }
    }
    trace_.jobs.push_back(std::move(job));
  }

  // By the simplest of lower bounds, where a device's second costs what its speed says.
  void scale_to_load() {
    double cost = 0, speeds = 0;
    for (const Device& device : trace_.devices) speeds += device.speed;
    for (const TraceJob& job : trace_.jobs) {
      for (const TraceTask& task : job.tasks) cost += task.size * least_cost(task.kernel);
    }
    const double scale = options_.load * Trace::kDay * speeds / cost;
    for (TraceJob& job : trace_.jobs) {
      for (TraceTask& task : job.tasks) task.size *= scale;
    }
  }
  double least_cost(std::uint32_t kernel) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t device = 0; device < trace_.devices.size(); ++device) {
      const double each = trace_.seconds_per_item[kernel][device];
      if (each > 0) least = std::min(least, each * trace_.devices[device].speed);
    }
    return least;
  }

  const TraceOptions options_;
  std::mt19937 random_;
  Trace trace_;
};

}  // namespace

std::size_t Trace::tasks() const {
  std::size_t sum = 0;
  for (const TraceJob& job : jobs) sum += job.tasks.size();
  return sum;
}

Seconds Trace::seconds(const TraceTask& task, DeviceId device) const {
  return task.size * seconds_per_item[task.kernel][device];
}

Seconds Trace::least_seconds(const TraceTask& task) const {
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const double each : seconds_per_item[task.kernel]) least = each > 0 ? std::min(least, each) : least;
  return task.size * least;
}

Seconds Trace::critical_path(const TraceJob& job) const {
  std::vector<Seconds> ends;
  for (const TraceTask& task : job.tasks) {
    Seconds begin = 0;
    for (const std::uint32_t before : task.after) begin = std::max(begin, ends[before]);
    ends.push_back(begin + least_seconds(task));
  }
  return *std::max_element(ends.begin(), ends.end());
}

Trace make_trace(const TraceOptions& options) { return Generator(options).make(); }

}  // namespace remotecl::schedule
