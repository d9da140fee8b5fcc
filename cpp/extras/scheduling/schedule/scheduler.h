#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "extras/scheduling/schedule/cluster.h"
#include "extras/scheduling/schedule/device_queue.h"
#include "extras/scheduling/schedule/inputs.h"
#include "extras/scheduling/schedule/kernel.h"
#include "extras/scheduling/schedule/placement.h"
#include "extras/scheduling/schedule/policy.h"
#include "extras/scheduling/schedule/residency.h"
#include "extras/scheduling/schedule/samples.h"
#include "extras/scheduling/schedule/service_time.h"
#include "extras/scheduling/schedule/tasks_in_flight.h"

namespace remotecl::schedule {

// Gives each task of this process a device. Devices, links, others' load and the ends of tasks are reported to it, and
// the time with each call: it has no clock, threads or sockets. place() allocates nothing once it has seen as many
// tasks in flight and inputs of a task before.
//
// Not synchronised: every call needs the owner's lock.
class Scheduler {
 public:
  // `weight`: of this process, next to other users of a device. REQUIRES: weight > 0.
  explicit Scheduler(std::unique_ptr<Policy> policy, const Residency& residency, double weight = 1);

  ServerId add_server(const Link& access, const Link& inside) { return cluster_.network().add_server(access, inside); }
  DeviceId add_device(const Device& device);
  // Tasks on a lost device must still be reported, as failed.
  void set_present(DeviceId device, bool present) { cluster_.set_present(device, present); }
  KernelId add_kernel(std::string name);
  // A device that does not compile has this kernel.
  void add_binary(KernelId kernel, DeviceId device) { kernels_[kernel]->binaries.add(device); }
  Network& network() { return cluster_.network(); }
  const Cluster& cluster() const { return cluster_; }
  void set_policy(std::unique_ptr<Policy> policy);

  // What a server reports of its device's other users.
  void report(DeviceId device, const OthersLoad& others, Time now) { queues_[device].report(others, now); }

  Placement place(const Task& task, Time now);
  // Null if it has ended. Valid until the next call.
  const TaskInFlight* find(Ticket ticket) const { return in_flight_.find(ticket); }
  // The task has ended, by its device's clock at the end of `run`; `now` may be later.
  void finished(Ticket ticket, const RunTimes& run, Time now);
  // The task has ended now. `seconds`: for how long the device was busy with it; 0 if that was not measured.
  void finished(Ticket ticket, Seconds seconds, Time now);
  // The task has ended by now, and finished() will follow with its times.
  void passed(Ticket ticket, Time now);
  // The task has failed, or was never run.
  void failed(Ticket ticket);

  const DeviceQueue& queue(DeviceId device) const { return queues_[device]; }
  const Kernel& kernel(KernelId kernel) const { return *kernels_[kernel]; }
  std::size_t in_flight() const { return in_flight_.size(); }

 private:
  KernelTimes::Forecast forecast(const Kernel& kernel, double size) const;
  Time ready(const Task& task, Time now) const;
  // See Situation::bytes.
  std::uint64_t bytes(const Situation& situation) const;
  void begin(Placement& placement, const Task& task);
  // Returns a copy of it, if there is such a task, and removes it.
  std::optional<TaskInFlight> take(Ticket ticket);
  void ended(const TaskInFlight& task, Seconds seconds, Time end);
  // Tasks like this one that wait on its device will probably take as long as it has.
  void replan(const TaskInFlight& like);
  void learn(const TaskInFlight& task, Seconds seconds);

  const double weight_;
  const Residency& residency_;
  std::unique_ptr<Policy> policy_;
  // The texts of all policies so far, each once, because placements outlive policies.
  std::deque<PolicyText> texts_;
  const PolicyText* text_ = nullptr;  // of policy_
  Cluster cluster_;
  std::vector<DeviceQueue> queues_;               // by device
  std::vector<ServiceTime> service_times_;        // by device
  std::vector<Time> watched_at_;                  // by device, when a task was watched last
  std::vector<std::unique_ptr<Kernel>> kernels_;  // stay where they are
  KernelTimes all_kernels_;                       // as if they were one; the first guess for a new one
  Samples samples_;
  TasksInFlight in_flight_;
  // Reused for their allocations.
  Inputs inputs_;
  std::vector<TaskInFlight*> waiting_;
};

}  // namespace remotecl::schedule
