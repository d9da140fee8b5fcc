#include "extras/scheduling/placement/placement.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "extras/scheduling/placement/kernel_key.h"
#include "extras/scheduling/schedule/named_policies.h"
#include "extras/scheduling/schedule/policy_library.h"
#include "runtime/base/host_time.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/stderr_notice.h"

namespace remotecl {
namespace {

schedule::RunTimes run_times(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return {static_cast<double>(begin_ns) * 1e-9, static_cast<double>(end_ns) * 1e-9};
}

// How often links are reported to the scheduler while kernels are placed.
constexpr schedule::Seconds kLinksPeriod = 50e-3;

std::unique_ptr<schedule::Policy> policy_from(const std::string& name_or_path) {
  if (auto policy = schedule::make_policy(name_or_path)) return policy;
  if (name_or_path.find('/') != std::string::npos) return schedule::load_policy(name_or_path, "");
  std::string names;
  for (const std::string_view name : schedule::policy_names()) names += std::string(name) + ", ";
  throw std::runtime_error("there is no policy \"" + name_or_path + "\"; there are " + names +
                           "and libraries, whose path has a slash");
}

}  // namespace

Placement::Placement() : scheduler_(schedule::make_policy(schedule::kDefaultPolicy), inputs_) {
  const char* const wanted = std::getenv("REMOTECL_SCHEDULE");
  if (wanted == nullptr || *wanted == '\0') return;
  try {
    set_policy(wanted);
  } catch (const std::exception& failure) {
    notice(std::string("REMOTECL_SCHEDULE: ") + failure.what());
  }
}

void Placement::set_policy(const std::string& name_or_path) { set_policy(policy_from(name_or_path)); }

void Placement::set_policy(std::unique_ptr<schedule::Policy> policy) {
  const MutexLock lock(mutex());
  scheduler_.set_policy(std::move(policy));
}

schedule::Time Placement::now() { return static_cast<double>(host_time_ns()) * 1e-9; }

std::vector<schedule::DeviceId> Placement::add_devices(const std::vector<Device*>& devices) {
  std::vector<schedule::DeviceId> ids;
  for (Device* each : devices) {
    Device* const device = &each->root();  // only parts of devices may be destroyed before this
    schedule::DeviceId id = schedule::kNoDevice;
    {
      const MutexLock lock(mutex());
      id = devices_.id(*device);
    }
    if (id == schedule::kNoDevice) {
      const double round_trip_us = device->session().round_trip_us();
      device->session().watch_loads(this);
      const MutexLock lock(mutex());
      id = devices_.add(scheduler_, *device, std::max(round_trip_us, 0.0) * 1e-6);
      placed_.resize(devices_.count());
    }
    ids.push_back(id);
  }
  return ids;
}

std::vector<AutomaticDevices::Count> Placement::counts() {
  const MutexLock lock(mutex());
  std::vector<AutomaticDevices::Count> counts;
  for (schedule::DeviceId id = 0; id < placed_.size(); ++id) counts.push_back({&devices_.device(id), placed_[id]});
  return counts;
}

Device* Placement::device(schedule::DeviceId id) {
  const MutexLock lock(mutex());
  return id < devices_.count() ? &devices_.device(id) : nullptr;
}

void Placement::watch(QueueTasks& tasks) {
  const MutexLock lock(mutex());
  queues_.push_back(&tasks);
}

void Placement::forget(QueueTasks& tasks) {
  std::vector<Ref<Event>> released;
  const MutexLock lock(mutex());
  take_all(tasks, released);
  std::erase(queues_, &tasks);
}

schedule::KernelId Placement::kernel_id(Kernel& kernel, const std::vector<Device*>& members) {
  const std::uint32_t known = kernel.placement_id().load(std::memory_order_acquire);
  if (known != Kernel::kNotPlaced) return known;
  std::vector<Device*> able;
  for (Device* member : members) {
    const bool is_built = kernel.program().ready_on(*member);
    if (is_built && kernel.program().kernel_info(kernel.info().name, member)) able.push_back(member);
  }
  const std::string key = kernel_key(kernel, able);
  const MutexLock lock(mutex());
  const auto [at, is_new] = kernels_.try_emplace(key, 0);
  if (is_new) {
    at->second = scheduler_.add_kernel(kernel.info().name);
    for (const Device* device : able) scheduler_.add_binary(at->second, devices_.id(*device));
  }
  kernel.placement_id().store(at->second, std::memory_order_release);
  return at->second;
}

std::vector<schedule::Ticket>& Placement::tickets_before(const QueueTasks& tasks, const Launch& launch) {
  before_.clear();
  if (launch.in_order && tasks.last() != 0) before_.push_back(tasks.last());
  for (const Event* event : launch.waits) {
    const Known& known = known_[event->id() % kKnown];
    if (known.event == event->id()) before_.push_back(known.ticket);
  }
  return before_;
}

void Placement::take_ended(QueueTasks& own, std::vector<Ref<Event>>& released, schedule::Time now) {
  own.take_ended(ended_, released);
  for (std::size_t looks = std::min(queues_.size(), kLooksMax); looks > 0; --looks) {
    next_queue_ = next_queue_ + 1 < queues_.size() ? next_queue_ + 1 : 0;
    if (queues_[next_queue_] != &own) queues_[next_queue_]->take_ended(ended_, released);
  }
  tell_ended(now);
}

void Placement::take_all(QueueTasks& tasks, std::vector<Ref<Event>>& released) {
  tasks.take_all(ended_, released);
  tell_ended(now());
}

void Placement::tell_ended(schedule::Time now) {
  for (const QueueTasks::Ended& task : ended_) report_end(task, now);
  ended_.clear();
}

void Placement::report_end(const QueueTasks::Ended& task, schedule::Time now) {
  if (task.has_failed) return scheduler_.failed(task.ticket);
  if (task.end_ns > task.begin_ns) {
    return scheduler_.finished(task.ticket, run_times(task.begin_ns, task.end_ns), now);
  }
  // A thread that waited for the queue knows of the end long before the report is read, because nothing waits for that.
  if (task.is_sample) return scheduler_.passed(task.ticket, now);
  scheduler_.finished(task.ticket, 0, now);
}

Placement::Placed Placement::place(QueueTasks& tasks, const Launch& launch) {
  const schedule::KernelId kernel = kernel_id(launch.kernel, launch.members);
  const std::uint64_t bytes = launch.inputs.bytes();
  std::vector<Ref<Event>> released;  // after unlocking
  const MutexLock lock(mutex());
  const schedule::Time time = now();
  take_ended(tasks, released, time);
  if (time >= links_at_) {
    devices_.report_links(scheduler_);
    links_at_ = time + kLinksPeriod;
  }
  inputs_.now = &launch.inputs;
  schedule::Task task;
  task.kernel = kernel;
  task.size = launch.size;
  task.accesses = launch.inputs.accesses();
  task.bytes = bytes;
  task.after = tickets_before(tasks, launch);
  if (launch.named != nullptr) task.named = devices_.id(*launch.named);
  if (launch.only != nullptr) [[unlikely]]
    task.only = devices_.id(*launch.only);
  while (true) {
    const schedule::Placement why = scheduler_.place(task, time);
    if (why.device == schedule::kNoDevice) return {};
    Device& device = devices_.device(why.device);
    if (device.session().lost()) {
      scheduler_.failed(why.ticket);
      scheduler_.set_present(why.device, false);
      continue;
    }
    ++placed_[why.device];
    return {&device, why.ticket, why.is_sample ? why.ticket : 0, why};
  }
}

void Placement::sent(QueueTasks& tasks, const Placed& placed, Kernel& kernel, const CommandQueue& member,
                     std::uint64_t sequence, Event* event) {
  std::vector<Ref<Event>> released;
  const MutexLock lock(mutex());
  if (tasks.is_full()) take_all(tasks, released);
  tasks.add(member, sequence, event, placed.ticket, placed.sample != 0);
  tasks.set_last(placed.ticket);
  if (event == nullptr) return;
  const auto id = kernel.placement_id().load(std::memory_order_relaxed);
  known_[event->id() % kKnown] = {event->id(), placed.ticket, id, placed.why};
}

void Placement::not_sent(const Placed& placed) {
  const MutexLock lock(mutex());
  scheduler_.failed(placed.ticket);
}

std::optional<Placement::Decision> Placement::explain(EventId event) {
  const MutexLock lock(mutex());
  const Known& known = known_[event % kKnown];
  if (known.event != event || event == 0) return std::nullopt;
  Decision decision;
  decision.event = event;
  decision.why = known.why;
  decision.kernel = scheduler_.kernel(known.kernel).name;
  decision.device = &devices_.device(known.why.device);
  if (known.why.runner_up != schedule::kNoDevice) decision.runner_up = &devices_.device(known.why.runner_up);
  decision.policy = known.why.policy->name;
  decision.reason = known.why.policy->reason;
  decision.text = schedule::explain(known.why);
  return decision;
}

void Placement::device_load(Session& session, std::uint32_t device_index, const Load& load) {
  const MutexLock lock(mutex());
  const schedule::DeviceId device = devices_.id(session, device_index);
  if (device != schedule::kNoDevice) scheduler_.report(device, {load.queued_s, load.weight, load.own}, now());
}

void Placement::sampled(std::uint64_t sample, const CommandTraced& times) {
  const MutexLock lock(mutex());
  if (times.status < 0) return scheduler_.failed(sample);
  const bool is_measured = times.has_profile != 0 && times.end_ns > times.start_ns;
  if (!is_measured) return scheduler_.finished(sample, 0, now());
  scheduler_.finished(sample, run_times(times.start_ns, times.end_ns), now());
}

}  // namespace remotecl
