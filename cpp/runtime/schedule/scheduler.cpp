#include "runtime/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace remotecl::schedule {
namespace {

// A guess; more only cost an allocation.
constexpr std::size_t kInFlight = 1024;

std::uint64_t memory_of(const Task& task) {
  std::uint64_t sum = 0;
  for (const Access& access : task.accesses) sum += access.bytes;
  return sum;
}

}  // namespace

Scheduler::Scheduler(std::unique_ptr<Policy> policy, const Residency& residency, double weight)
    : weight_(weight), residency_(residency), policy_(std::move(policy)), in_flight_(kInFlight), inputs_(cluster_) {}

DeviceId Scheduler::add_device(const Device& device) {
  const DeviceId id = cluster_.add(device);
  queues_.emplace_back();
  able_.resize(cluster_.present().size());
  for (const auto& kernel : kernels_) kernel->exploration.reserve(cluster_.size());
  return id;
}

KernelId Scheduler::add_kernel(std::string name) {
  kernels_.push_back(std::make_unique<Kernel>());
  kernels_.back()->name = std::move(name);
  kernels_.back()->exploration.reserve(cluster_.size());
  return static_cast<KernelId>(kernels_.size() - 1);
}

Placement Scheduler::place(const Task& task, Time now) {
  const Kernel& kernel = *kernels_[task.kernel];
  inputs_.find(task.accesses, residency_);
  const Situation situation{.now = now,
                            .ready = ready(task, now),
                            .task = task,
                            .kernel = kernel,
                            .cluster = cluster_,
                            .queues = queues_,
                            .inputs = inputs_,
                            .able = able(kernel),
                            .weight = weight_,
                            .bytes = memory_of(task),
                            .forecast = forecast(kernel, task.size)};
  const Choice choice = policy_->choose(situation);
  Placement placement;
  placement.now = now;
  placement.ready = situation.ready;
  placement.policy = policy_.get();
  if (!situation.is_candidate(choice.device)) return placement;
  placement.device = choice.device;
  placement.estimate = situation.estimate(choice.device);
  placement.score = choice.score;
  placement.runner_up = choice.runner_up;
  placement.second = choice.second;
  begin(placement, task, situation);
  return placement;
}

KernelTimes::Forecast Scheduler::forecast(const Kernel& kernel, double size) const {
  return kernel.times.is_empty() ? all_kernels_.at(size).for_another() : kernel.times.at(size);
}

Time Scheduler::ready(const Task& task, Time now) const {
  Time latest = now;
  for (const Ticket ticket : task.after) {
    const TaskInFlight* before = in_flight_.find(ticket);
    if (before) latest = std::max(latest, queues_[before->device].expected_end(before->plan, now));
  }
  return latest;
}

DeviceWords Scheduler::able(const Kernel& kernel) {
  const DeviceWords present = cluster_.present(), builders = cluster_.builders(), binaries = kernel.binaries.words();
  for (std::size_t at = 0; at < able_.size(); ++at) {
    const std::uint64_t runs = (at < builders.size() ? builders[at] : 0) | (at < binaries.size() ? binaries[at] : 0);
    able_[at] = present[at] & runs;
  }
  return able_;
}

void Scheduler::begin(Placement& placement, const Task& task, const Situation& situation) {
  const Estimate& estimate = placement.estimate;
  DeviceQueue& queue = queues_[placement.device];
  const auto plan = queue.push(placement.now, situation.ready + estimate.transfer, estimate.seconds, estimate.finish);
  const bool is_trial = !estimate.measured;
  if (is_trial) kernels_[task.kernel]->exploration.begin_trial(placement.device, estimate.seconds);
  placement.ticket = in_flight_.add({task.kernel, placement.device, task.size, estimate.seconds, is_trial, plan});
}

void Scheduler::finished(Ticket ticket, Seconds seconds, Time now) {
  const TaskInFlight* found = in_flight_.find(ticket);
  if (!found) return;
  const TaskInFlight task = *found;
  in_flight_.remove(ticket);
  queues_[task.device].pop(task.plan, now);
  learn(task, seconds);
  policy_->finished({*kernels_[task.kernel], task.device, task.size, seconds, task.expected});
}

void Scheduler::learn(const TaskInFlight& task, Seconds seconds) {
  Kernel& kernel = *kernels_[task.kernel];
  if (task.is_trial) {
    // The least that it would have taken elsewhere.
    const KernelTimes::Forecast forecast = kernel.times.at(task.size);
    Seconds least = seconds;
    for (DeviceId device = 0; device < cluster_.size(); ++device) {
      const Seconds there = forecast.measured(device);
      if (there > 0) least = std::min(least, there);
    }
    kernel.exploration.end_trial(task.device, task.expected, seconds - least);
  }
  if (seconds > 0) kernel.exploration.ran(seconds);
  kernel.times.record(task.device, cluster_[task.device], task.size, seconds);
  all_kernels_.record(task.device, cluster_[task.device], task.size, seconds);
}

void Scheduler::failed(Ticket ticket, Time now) {
  const TaskInFlight* found = in_flight_.find(ticket);
  if (!found) return;
  const TaskInFlight task = *found;
  in_flight_.remove(ticket);
  queues_[task.device].drop(task.expected, now);
  if (task.is_trial) kernels_[task.kernel]->exploration.end_trial(task.device, task.expected, 0);
}

}  // namespace remotecl::schedule
