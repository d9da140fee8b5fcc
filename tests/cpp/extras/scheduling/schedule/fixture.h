#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "extras/scheduling/schedule/named_policies.h"
#include "extras/scheduling/schedule/scheduler.h"
#include "runtime/base/index_set.h"

namespace remotecl::schedule {

// Each buffer is whole, in some locations.
class FakeResidency : public Residency {
 public:
  void put(BufferId buffer, std::uint64_t bytes, const std::vector<DeviceId>& devices, bool on_client = false) {
    Copy& copy = copies_[buffer];
    copy = {bytes, {}, on_client};
    for (const DeviceId device : devices) copy.devices.add(device);
  }
  void find(const Access& access, std::vector<Segment>& out) const override {
    const auto found = copies_.find(access.buffer);
    if (found == copies_.end()) return;
    out.push_back({access.bytes, &found->second.devices, found->second.on_client});
  }

 private:
  struct Copy {
    std::uint64_t bytes;
    IndexSet devices;
    bool on_client;
  };
  std::map<BufferId, Copy> copies_;
};

// A scheduler with some devices, each on a server of its own behind a link of 1 GB/s and 1 ms.
class SmallCluster {
 public:
  explicit SmallCluster(std::string_view policy, double weight = 1)
      : scheduler_(make_policy(policy), residency_, weight) {}

  DeviceId add(Device device) {
    device.server = scheduler_.add_server({1e9, 1e-3}, {1e10, 0});
    return scheduler_.add_device(device);
  }
  DeviceId add_speed(double speed) { return add(Device{.speed = speed}); }

  Placement place(KernelId kernel, double size = 1, Time now = 0, std::vector<Ticket> after = {}) {
    Task task;
    task.kernel = kernel;
    task.size = size;
    task.after = after;
    return scheduler_.place(task, now);
  }
  // The device has run the kernel before; how long that took is known for this size.
  void measure(KernelId kernel, DeviceId device, double size, Seconds seconds) {
    auto policy = std::make_unique<Fixed>(device);
    scheduler_.set_policy(std::move(policy));
    const Placement placement = place(kernel, size);
    scheduler_.finished(placement.ticket, seconds, 0);
  }
  void use(std::string_view policy) { scheduler_.set_policy(make_policy(policy)); }

  FakeResidency residency_;
  Scheduler scheduler_;

 private:
  class Fixed : public Policy {
   public:
    explicit Fixed(DeviceId device) : device_(device) {}
    std::string_view name() const override { return "fixed"; }
    std::string_view reason() const override { return "fixed"; }
    Choice choose(const Situation&) override { return {.device = device_}; }

   private:
    const DeviceId device_;
  };
};

}  // namespace remotecl::schedule
