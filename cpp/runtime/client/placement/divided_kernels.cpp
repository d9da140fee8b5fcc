// What the placement does for kernels that are divided among members.
#include <algorithm>

#include "runtime/client/placement/placement.h"
#include "runtime/client/session/session.h"

namespace remotecl {

std::vector<Placement::Part> Placement::parts(QueueTasks& tasks, const Launch& launch) {
  const schedule::KernelId kernel = kernel_id(launch.kernel, launch.members);
  std::vector<Ref<Event>> released;  // after unlocking
  const MutexLock lock(mutex());
  const schedule::Time time = now();
  take_ended(tasks, released, time);
  look_for_losses(launch.members);
  std::vector<Part> parts;
  for (const schedule::Part& part : scheduler_.parts(task_of(tasks, launch, kernel), time)) {
    parts.push_back({&devices_.device(part.device), part.share});
  }
  return parts;
}

void Placement::look_for_losses(const std::vector<Device*>& members) {
  for (const Device* member : members) {
    if (member->session().lost()) scheduler_.set_present(devices_.id(*member), false);
  }
}

Placement::Divided Placement::place_parts(QueueTasks& tasks, const Launch& launch,
                                          std::span<const schedule::Access> accesses, std::uint64_t bytes,
                                          std::span<const PartLaunch> parts) {
  const schedule::KernelId kernel = kernel_id(launch.kernel, launch.members);
  const MutexLock lock(mutex());
  inputs_.now = &launch.inputs;
  schedule::Task whole = task_of(tasks, launch, kernel);
  whole.accesses = accesses;
  whole.bytes = bytes;
  std::vector<schedule::Task> tasks_of_parts;
  std::vector<double> shares;
  for (const PartLaunch& part : parts) {
    schedule::Task task = whole;
    task.size = part.size;
    task.accesses = part.accesses;
    task.only = devices_.id(*part.device);
    task.is_part = true;
    tasks_of_parts.push_back(task);
    shares.push_back(part.share);
  }
  Divided divided;
  divided.why = scheduler_.place_parts(whole, tasks_of_parts, shares, now());
  for (const schedule::Placement& why : divided.why.parts) {
    ++placed_[why.device];
    divided.parts.push_back({&devices_.device(why.device), why.ticket, why.is_sample ? why.ticket : 0, why});
  }
  return divided;
}

void Placement::set_event(const Event& event, Kernel& kernel, const Divided& divided) {
  const auto last =
      std::ranges::max_element(divided.parts, {}, [](const Placed& part) { return part.why.estimate.finish; });
  const auto id = kernel.placement_id().load(std::memory_order_relaxed);
  auto division = std::make_shared<const schedule::DividedPlacement>(divided.why);
  const MutexLock lock(mutex());
  known_[event.id() % kKnown] = {event.id(), last->ticket, id, last->why, std::move(division)};
}

void Placement::explain_parts(Decision& decision, const schedule::DividedPlacement& division) {
  for (std::size_t at = 0; at < division.parts.size(); ++at) {
    const schedule::Placement& part = division.parts[at];
    decision.parts.push_back({&devices_.device(part.device), division.shares[at], part});
  }
  const auto largest = std::ranges::max_element(decision.parts, {}, &Decision::Part::share);
  decision.device = largest->device;
  decision.why = largest->why;
  decision.why.estimate.finish = division.finish;
  decision.runner_up = nullptr;
  decision.gather = division.gather;
  decision.text = schedule::explain(division);
}

}  // namespace remotecl
