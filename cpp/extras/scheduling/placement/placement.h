#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "extras/scheduling/placement/gathered_inputs.h"
#include "extras/scheduling/placement/known_devices.h"
#include "extras/scheduling/placement/queue_tasks.h"
#include "extras/scheduling/schedule/scheduler.h"
#include "runtime/base/mutex.h"
#include "runtime/client/program/kernel.h"
#include "runtime/client/session/load_sink.h"
#include "runtime/client/trace/tracer.h"

namespace remotecl {

// Chooses a member of an automatic device for each kernel, by the scheduler and what this process knows. Any thread. It
// has no thread and sends no messages of its own. Sessions report loads to it as long as they live.
//
// Lock order: a queue's before this one's; a context's memory mutex is not held meanwhile.
class Placement final : public LoadSink, public SampleSink {
 public:
  // With the policy that REMOTECL_SCHEDULE names.
  Placement();

  // By name, or a shared library's path. Throws std::runtime_error.
  void set_policy(const std::string& name_or_path);
  void set_policy(std::unique_ptr<schedule::Policy> policy);

  // To be called before a kernel is placed on them: may take a round trip to each server.
  std::vector<schedule::DeviceId> add_devices(const std::vector<Device*>& devices);
  // Of every device that was a member.
  std::vector<AutomaticDevices::Count> counts();
  // Null: there is none of this number.
  Device* device(schedule::DeviceId id);
  // Looks at the queue's tasks until forget().
  void watch(QueueTasks& tasks);
  void forget(QueueTasks& tasks);

  struct Launch {
    Kernel& kernel;
    double size;  // work items
    const std::vector<Device*>& members;
    const GatheredInputs& inputs;
    std::span<Event* const> waits;
    bool in_order;
    Device* named;  // what the static policy chooses
    Device* only;   // not null: no other member will do
  };
  struct Placed {
    Device* device = nullptr;  // null: no member can run it
    schedule::Ticket ticket = 0;
    std::uint64_t sample = 0;  // not 0: its times are to be reported under this number
    schedule::Placement why{};
  };
  Placed place(QueueTasks& tasks, const Launch& launch);
  // The kernel was sent, as the command `sequence` of `member`; or it was not sent.
  void sent(QueueTasks& tasks, const Placed& placed, Kernel& kernel, const CommandQueue& member, std::uint64_t sequence,
            Event* event);
  void not_sent(const Placed& placed);

  struct Decision {
    EventId event = 0;
    schedule::Placement why;
    std::string kernel;
    Device* device = nullptr;
    Device* runner_up = nullptr;
    std::string policy, reason, text;
  };
  // Why the command of this event runs where it does; known only for the latest commands.
  std::optional<Decision> explain(EventId event);

  void device_load(Session& session, std::uint32_t device_index, const Load& load) override;
  void sampled(std::uint64_t sample, const CommandTraced& times) override;

 private:
  // What the scheduler asks about the command that is being placed.
  struct Inputs final : schedule::Residency {
    const GatheredInputs* now = nullptr;
    void find(const schedule::Access& access, std::vector<schedule::Segment>& out) const override {
      now->find(access, out);
    }
  };
  // What is known of a command with an event.
  struct Known {
    EventId event = 0;
    schedule::Ticket ticket = 0;
    schedule::KernelId kernel = 0;
    schedule::Placement why;
  };
  static constexpr std::size_t kKnown = 4096;
  // The most queues that a placement looks at, however many a program has.
  static constexpr std::size_t kLooksMax = 8;

  Mutex& mutex() RETURN_CAPABILITY(kPlacementMutex) { return mutex_; }
  schedule::KernelId kernel_id(Kernel& kernel, const std::vector<Device*>& members);
  std::vector<schedule::Ticket>& tickets_before(const QueueTasks& tasks, const Launch& launch)
      REQUIRES(kPlacementMutex);
  // Takes the ended tasks of that queue, and of some others in turn.
  void take_ended(QueueTasks& own, std::vector<Ref<Event>>& released, schedule::Time now) REQUIRES(kPlacementMutex);
  void take_all(QueueTasks& tasks, std::vector<Ref<Event>>& released) REQUIRES(kPlacementMutex);
  // Tells the scheduler of what is in ended_, and empties it.
  void tell_ended(schedule::Time now) REQUIRES(kPlacementMutex);
  void report_end(const QueueTasks::Ended& task, schedule::Time now) REQUIRES(kPlacementMutex);
  static schedule::Time now();

  Mutex mutex_;
  Inputs inputs_ GUARDED_BY(kPlacementMutex);
  schedule::Scheduler scheduler_ GUARDED_BY(kPlacementMutex);
  KnownDevices devices_ GUARDED_BY(kPlacementMutex);
  std::vector<std::uint64_t> placed_ GUARDED_BY(kPlacementMutex);  // by device
  std::unordered_map<std::string, schedule::KernelId> kernels_
      GUARDED_BY(kPlacementMutex);  // by text, name and devices
  std::vector<QueueTasks*> queues_ GUARDED_BY(kPlacementMutex);
  std::size_t next_queue_ GUARDED_BY(kPlacementMutex) = 0;            // the queue that was looked at last
  std::array<Known, kKnown> known_ GUARDED_BY(kPlacementMutex);       // by event, the latest
  std::vector<schedule::Ticket> before_ GUARDED_BY(kPlacementMutex);  // reused for its allocation
  std::vector<QueueTasks::Ended> ended_ GUARDED_BY(kPlacementMutex);  // likewise
  schedule::Time links_at_ GUARDED_BY(kPlacementMutex) = 0;           // when to report links to the scheduler again
};

}  // namespace remotecl
