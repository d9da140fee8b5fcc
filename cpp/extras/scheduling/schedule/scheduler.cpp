#include "extras/scheduling/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace remotecl::schedule {
namespace {

// A guess; more tasks only cost an allocation.
constexpr std::size_t kInFlight = 1024;
// How often a busy device reports its progress if nothing else does.
constexpr Seconds kWatchPeriod = 10e-3;

}  // namespace

Scheduler::Scheduler(std::unique_ptr<Policy> policy, const Residency& residency, double weight)
    : weight_(weight), residency_(residency), in_flight_(kInFlight), inputs_(cluster_) {
  set_policy(std::move(policy));
}

void Scheduler::set_policy(std::unique_ptr<Policy> policy) {
  policy_ = std::move(policy);
  auto at = std::ranges::find_if(texts_, [this](const PolicyText& text) {
    return text.name == policy_->name() && text.reason == policy_->reason();
  });
  if (at == texts_.end()) {
    at = texts_.insert(at, PolicyText{std::string(policy_->name()), std::string(policy_->reason())});
  }
  text_ = &*at;
}

DeviceId Scheduler::add_device(const Device& device) {
  const DeviceId id = cluster_.add(device);
  queues_.emplace_back(weight_);
  service_times_.emplace_back();
  watched_at_.push_back(-kWatchPeriod);
  for (const auto& kernel : kernels_) kernel->exploration.reserve(cluster_.size());
  samples_.reserve(kernels_.size(), cluster_.size());
  return id;
}

KernelId Scheduler::add_kernel(std::string name) {
  kernels_.push_back(std::make_unique<Kernel>());
  kernels_.back()->name = std::move(name);
  kernels_.back()->exploration.reserve(cluster_.size());
  samples_.reserve(kernels_.size(), cluster_.size());
  return static_cast<KernelId>(kernels_.size() - 1);
}

Placement Scheduler::place(const Task& task, Time now) {
  const Kernel& kernel = *kernels_[task.kernel];
  inputs_.find(task.accesses, residency_);
  Situation situation{.now = now,
                      .ready = ready(task, now),
                      .task = task,
                      .kernel = kernel,
                      .cluster = cluster_,
                      .queues = queues_,
                      .inputs = inputs_,
                      .bytes = task.bytes,
                      .forecast = forecast(kernel, task.size)};
  situation.bytes = bytes(situation);
  const Choice choice = policy_->choose(situation);
  Placement placement;
  placement.now = now;
  placement.ready = situation.ready;
  placement.policy = text_;
  if (!situation.is_candidate(choice.device)) return placement;
  placement.device = choice.device;
  placement.estimate = situation.estimate(choice.device);
  placement.score = choice.score;
  placement.runner_up = choice.runner_up;
  placement.second = choice.second;
  begin(placement, task);
  return placement;
}

KernelTimes::Forecast Scheduler::forecast(const Kernel& kernel, double size) const {
  return kernel.times.is_empty() ? all_kernels_.at(size).for_another() : kernel.times.at(size);
}

Time Scheduler::ready(const Task& task, Time now) const {
  Time latest = now;
  for (const Ticket ticket : task.after) {
    const TaskInFlight* before = in_flight_.find(ticket);
    if (before) latest = std::max(latest, queues_[before->device].expected_end(before->position, now));
  }
  return latest;
}

std::uint64_t Scheduler::bytes(const Situation& situation) const {
  if (situation.bytes <= cluster_.memory_min()) return situation.bytes;
  std::uint64_t largest = 0;
  for (DeviceId device = 0; device < cluster_.size(); ++device) {
    if (situation.is_able(device)) largest = std::max(largest, cluster_[device].memory_bytes);
  }
  return std::min(situation.bytes, largest);
}

void Scheduler::begin(Placement& placement, const Task& task) {
  const Estimate& estimate = placement.estimate;
  DeviceQueue& queue = queues_[placement.device];
  const bool is_next = samples_.next(task.kernel, placement.device, task.size);
  Time& watched_at = watched_at_[placement.device];
  placement.is_sample = is_next || (!queue.is_watching() && placement.now - watched_at >= kWatchPeriod);
  if (placement.is_sample) watched_at = placement.now;
  const auto position =
      queue.push(placement.now, placement.ready + estimate.transfer, estimate.seconds, placement.is_sample);
  // Where another device would have been better, transfers are a part of what the trial costs.
  const bool is_detour = !estimate.measured && placement.second < placement.score;
  const Seconds moves = is_detour ? estimate.transfer : 0;
  const Seconds trial = estimate.measured ? 0 : estimate.seconds + moves;
  if (trial > 0) kernels_[task.kernel]->exploration.begin_trial(placement.device, trial);
  placement.ticket = in_flight_.add(
      {task.kernel, placement.device, task.size, estimate.seconds, trial, moves, position, placement.now, false});
}

std::optional<TaskInFlight> Scheduler::take(Ticket ticket) {
  const TaskInFlight* const found = in_flight_.find(ticket);
  if (!found) return std::nullopt;
  const TaskInFlight task = *found;
  in_flight_.remove(ticket);
  return task;
}

void Scheduler::finished(Ticket ticket, const RunTimes& run, Time now) {
  const auto task = take(ticket);
  if (!task) return;
  ServiceTime& times = service_times_[task->device];
  const Time end = times.end(run, now);
  const double share = queues_[task->device].share();
  ended(*task, times.seconds({task->position, task->expected, task->placed, share, run}, end), end);
}

void Scheduler::finished(Ticket ticket, Seconds seconds, Time now) {
  if (const auto task = take(ticket)) ended(*task, seconds, now);
}

void Scheduler::passed(Ticket ticket, Time now) {
  TaskInFlight* const task = in_flight_.find(ticket);
  if (task == nullptr || std::exchange(task->has_passed, true)) return;
  queues_[task->device].pop(task->position, now);
}

void Scheduler::ended(const TaskInFlight& task, Seconds seconds, Time end) {
  if (!task.has_passed) queues_[task.device].pop(task.position, end);
  learn(task, seconds);
  const bool is_surprise = seconds > 2 * task.expected || 2 * seconds < task.expected;
  if (seconds > 0 && is_surprise) {
    samples_.surprised(task.kernel, task.device, task.size);
    replan(task);
  }
  policy_->finished({*kernels_[task.kernel], task.device, task.size, seconds, task.expected});
}

void Scheduler::replan(const TaskInFlight& like) {
  const Seconds seconds = kernels_[like.kernel]->times.at(like.size).measured(like.device);
  if (seconds <= 0) return;
  waiting_.clear();
  in_flight_.for_each([&](TaskInFlight& task) {
    if (task.device == like.device && task.position > like.position && !task.has_passed) waiting_.push_back(&task);
  });
  std::sort(waiting_.begin(), waiting_.end(),
            [](const TaskInFlight* one, const TaskInFlight* other) { return one->position < other->position; });
  DeviceQueue& queue = queues_[like.device];
  Seconds moved = 0;
  for (TaskInFlight* task : waiting_) {
    if (task->kernel == like.kernel && task->size == like.size) {
      moved += seconds - task->expected;
      task->expected = seconds;
    }
    queue.move(task->position, task->position + moved);
    task->position += moved;
  }
  queue.move_last(moved);
}

void Scheduler::learn(const TaskInFlight& task, Seconds seconds) {
  Kernel& kernel = *kernels_[task.kernel];
  if (task.trial > 0) {
    // The least that it would have taken elsewhere.
    const KernelTimes::Forecast forecast = kernel.times.at(task.size);
    Seconds least = seconds;
    for (DeviceId device = 0; device < cluster_.size(); ++device) {
      const Seconds there = forecast.measured(device);
      if (there > 0) least = std::min(least, there);
    }
    kernel.exploration.end_trial(task.device, task.trial, seconds - least + task.moves);
  }
  if (seconds > 0) kernel.exploration.ran(seconds);
  kernel.times.record(task.device, cluster_[task.device], task.size, seconds);
  all_kernels_.record(task.device, cluster_[task.device], task.size, seconds);
}

void Scheduler::failed(Ticket ticket) {
  const auto task = take(ticket);
  if (!task) return;
  if (!task->has_passed) queues_[task->device].drop(task->expected);
  if (task->trial > 0) kernels_[task->kernel]->exploration.end_trial(task->device, task->trial, 0);
}

}  // namespace remotecl::schedule
