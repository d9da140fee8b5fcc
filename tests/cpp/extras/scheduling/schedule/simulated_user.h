#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "extras/scheduling/schedule/scheduler.h"
#include "runtime/base/index_set.h"
#include "simulated_device.h"
#include "trace.h"

namespace remotecl::schedule {

// One client: a scheduler that knows what a client knows, and where its buffers are.
class SimulatedUser {
 public:
  SimulatedUser(const Trace& trace, std::uint32_t id, std::string_view policy);

  void report(const std::vector<SimulatedDevice>& devices, Time now);
  // `output`: the buffer that it writes. Each input is as large as the job's data.
  Placement place(const TraceTask& task, std::uint64_t bytes, std::span<const BufferId> inputs, BufferId output,
                  std::span<const Ticket> after, DeviceId named, Time now);
  // How long the last decision took this thread; what others do meanwhile on a busy machine does not count.
  Seconds decision() const { return decision_; }
  void finished(Ticket ticket, Seconds seconds, Time now) { scheduler_.finished(ticket, seconds, now); }
  // This process has written it.
  void add_buffer(BufferId buffer, std::uint64_t bytes) { buffers_.put(buffer, bytes); }
  // The job is done.
  void remove_buffer(BufferId buffer) { buffers_.remove(buffer); }

 private:
  class Buffers : public Residency {
   public:
    void put(BufferId buffer, std::uint64_t bytes) { copies_[buffer] = {bytes, {}, true}; }
    void remove(BufferId buffer) { copies_.erase(buffer); }
    void add_holder(BufferId buffer, DeviceId device) { copies_.at(buffer).devices.add(device); }
    void write(BufferId buffer, std::uint64_t bytes, DeviceId device) {
      Copy& copy = copies_[buffer];
      copy = {bytes, {}, false};
      copy.devices.add(device);
    }
    void find(const Access& access, std::vector<Segment>& out) const override {
      const Copy& copy = copies_.at(access.buffer);
      out.push_back({copy.bytes, &copy.devices, copy.on_client});
    }

   private:
    struct Copy {
      std::uint64_t bytes;
      IndexSet devices;
      bool on_client;
    };
    std::unordered_map<BufferId, Copy> copies_;
  };

  KernelId kernel(std::uint32_t traced);
  // Each kernel has run once before the day, somewhere, so that its user knows how long it takes by and large.
  void run_yesterday(std::uint32_t traced, KernelId kernel);

  const Trace& trace_;
  const std::uint32_t id_;
  const std::string_view policy_;
  Buffers buffers_;
  Scheduler scheduler_;
  Seconds decision_ = 0;
  std::unordered_map<std::uint32_t, KernelId> kernels_;
};

}  // namespace remotecl::schedule
