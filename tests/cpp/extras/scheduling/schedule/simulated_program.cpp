#include "simulated_program.h"

#include <algorithm>

#include "extras/scheduling/schedule/named_policies.h"

namespace remotecl::schedule {
namespace {

constexpr double kItems = 1 << 14;
constexpr std::uint64_t kBytes = 4 << 14;

}  // namespace

SimulatedProgram::SimulatedProgram(SimulatedClock& clock, std::vector<std::unique_ptr<SimulatedServer>>& servers,
                                   std::uint32_t id, std::string_view policy, DeviceId fixed_device,
                                   std::span<const double> speeds, const Options& options)
    : clock_(clock),
      servers_(servers),
      id_(id),
      fixed_device_(fixed_device),
      options_(options),
      buffers_(options.buffers),
      scheduler_(make_policy(policy), buffers_),
      placed_(servers.size()) {
  kernel_ = scheduler_.add_kernel("work");
  for (DeviceId device = 0; device < servers.size(); ++device) {
    const ServerId server = scheduler_.add_server({1e9, options.latency}, {8e9, 30e-6});
    scheduler_.add_device({.server = server, .type = DeviceType::kCpu, .builds = true, .speed = speeds[device]});
    if (fixed_device != kAutomatic && fixed_device != device) continue;
    servers[device]->join(
        id,
        [this, device](const LoadOfDevice& load) {
          scheduler_.report(
              device, {static_cast<double>(load.queued_us) * 1e-6, static_cast<double>(load.weight_thousandths) * 1e-3},
              clock_.now());
        },
        options.load_delay);
  }
  for (BufferId buffer = 0; buffer < options.buffers; ++buffer) free_.push_back(buffer);
}

void SimulatedProgram::begin(Work work) {
  work_ = work;
  enqueued_ = done_ = 0;
  last_end_ = clock_.now();
  longest_wait_ = 0;
  std::fill(placed_.begin(), placed_.end(), 0);
  go();
}

void SimulatedProgram::go() {
  waits_ = false;
  while (!running_.empty()) {
    const auto at = options_.waits_in_order
                        ? running_.begin()
                        : std::find_if(running_.begin(), running_.end(), [](auto& task) { return task->has_ended; });
    if (at == running_.end() || !(*at)->has_ended) break;
    free_.push_back((*at)->buffer);
    tell(**at);
    running_.erase(at);
  }
  if (free_.empty() || enqueued_ == work_.kernels) {
    waits_ = true;
    return;
  }
  place();
  clock_.after(options_.enqueue, [this] { go(); });
}

void SimulatedProgram::place() {
  const BufferId buffer = free_.back();
  free_.pop_back();
  ++enqueued_;
  auto task = std::make_shared<Task>(Task{0, buffer});
  DeviceId device = fixed_device_;
  if (fixed_device_ == kAutomatic) {
    const Placement placement = choose(buffer);
    device = placement.device;
    task->ticket = placement.ticket;
    task->is_sample = placement.is_sample;
  }
  ++placed_[device];
  const Seconds transfer = buffers_.move(buffer, device) ? kBytes / 1e9 + 2 * options_.latency : 0;
  running_.push_back(task);
  clock_.after(options_.latency + transfer, [this, device, task, seconds = work_.seconds] {
    servers_[device]->enqueue(id_, seconds, [this, task](const SimulatedServer::Run& run) {
      clock_.after(options_.latency, [this, task, run] { ended(*task, run); });
    });
  });
}

Placement SimulatedProgram::choose(BufferId buffer) {
  const Access access{buffer, 0, kBytes, true, true};
  return scheduler_.place({.kernel = kernel_, .size = kItems, .accesses = {&access, 1}, .after = {}}, clock_.now());
}

void SimulatedProgram::tell(Task& task) {
  if (task.is_known || fixed_device_ != kAutomatic) return;
  task.is_known = true;
  scheduler_.finished(task.ticket, RunTimes{task.run.begin, task.run.end}, clock_.now());
}

void SimulatedProgram::ended(Task& task, const SimulatedServer::Run& run) {
  task.run = run;
  task.has_ended = true;
  ++done_;
  longest_wait_ = std::max(longest_wait_, clock_.now() - last_end_);
  last_end_ = clock_.now();
  if (task.is_sample || !options_.waits_in_order) tell(task);
  if (waits_) go();
}

}  // namespace remotecl::schedule
