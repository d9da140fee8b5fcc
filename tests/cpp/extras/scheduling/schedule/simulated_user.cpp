#include "simulated_user.h"

#include <time.h>

#include "extras/scheduling/schedule/named_policies.h"

namespace remotecl::schedule {
namespace {

Seconds processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<Seconds>(time.tv_sec) + static_cast<Seconds>(time.tv_nsec) * 1e-9;
}

}  // namespace

SimulatedUser::SimulatedUser(const Trace& trace, std::uint32_t id, std::string_view policy)
    : trace_(trace), id_(id), policy_(policy), scheduler_(make_policy(policy), buffers_, trace.weights[id]) {
  for (const Link& access : trace.access) scheduler_.add_server(access, {5e10, 1e-5});
  for (Device device : trace.devices) {
    device.server += 1;  // after this process
    scheduler_.add_device(device);
  }
}

KernelId SimulatedUser::kernel(std::uint32_t traced) {
  const auto [at, is_new] = kernels_.try_emplace(traced);
  if (!is_new) return at->second;
  at->second = scheduler_.add_kernel("kernel" + std::to_string(traced));
  for (DeviceId device = 0; device < trace_.devices.size(); ++device) {
    if (trace_.seconds_per_item[traced][device] > 0) scheduler_.add_binary(at->second, device);
  }
  run_yesterday(traced, at->second);
  return at->second;
}

void SimulatedUser::run_yesterday(std::uint32_t traced, KernelId kernel) {
  const auto count = static_cast<DeviceId>(trace_.devices.size());
  DeviceId device = (id_ * 31 + traced) % count;
  while (trace_.seconds_per_item[traced][device] <= 0) device = (device + 1) % count;
  const TraceTask task{.kernel = traced, .size = 1000, .after = {}};
  scheduler_.set_policy(make_policy("static"));
  const Placement placement =
      scheduler_.place({.kernel = kernel, .size = task.size, .accesses = {}, .after = {}, .named = device}, 0);
  scheduler_.finished(placement.ticket, trace_.seconds(task, device), 0);
  scheduler_.set_policy(make_policy(policy_));
}

void SimulatedUser::report(const std::vector<SimulatedDevice>& devices, Time now) {
  for (DeviceId device = 0; device < devices.size(); ++device)
    scheduler_.report(device, devices[device].others(id_), now);
}

Placement SimulatedUser::place(const TraceTask& task, std::uint64_t bytes, std::span<const BufferId> inputs,
                               BufferId output, std::span<const Ticket> after, DeviceId named, Time now) {
  std::vector<Access> accesses;
  for (const BufferId input : inputs) accesses.push_back({input, 0, bytes, true, false});
  accesses.push_back({output, 0, bytes, false, true});
  const Task given{
      .kernel = kernel(task.kernel), .size = task.size, .accesses = accesses, .after = after, .named = named};
  const Seconds begin = processor_seconds();
  const Placement placement = scheduler_.place(given, now);
  decision_ = processor_seconds() - begin;
  if (placement.device == kNoDevice) return placement;
  for (const BufferId input : inputs) buffers_.add_holder(input, placement.device);
  buffers_.write(output, bytes, placement.device);
  return placement;
}

}  // namespace remotecl::schedule
