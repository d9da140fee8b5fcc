#pragma once

#include <mutex>
#include <vector>

#include "runtime/client/commands/automatic_queue.h"
#include "runtime/client/commands/device_plans.h"

namespace remotecl {

// Brings what a part of a kernel reads, and does nothing else.
template <class KernelPart>
struct FetchPlan : Plan {
  static constexpr cl_command_type type = CL_COMMAND_MIGRATE_MEM_OBJECTS;
  const KernelPart& part;

  void uses(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    struct Reads {
      PendingCommand& command;
      void reads(MemoryObject& memory, ByteRange range) REQUIRES(kMemoryMutex) { command.reads(memory, range); }
      void writes(MemoryObject&, ByteRange) {}
    } reads{command};
    const MutexLock lock(part.kernel.mutex());
    part.uses(reads);
  }
  cl_int send(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    send_place_marker(command);
    return CL_SUCCESS;
  }
};

// One kernel of a queue on the automatic device that is divided among members, from the choice until its parts have
// been sent. Holds the queue's lock meanwhile, so that no other command of the queue comes between the parts, and waits
// for nothing. Unlocks it while a link is made, though, which is before the parts with few exceptions. One thread.
class REMOTECL_TSA(scoped_lockable) DividedTurn {
 public:
  DividedTurn(AutomaticQueue& queue, Kernel& kernel, double size, WaitList wait) ACQUIRE(kAutomaticQueueMutex);
  ~DividedTurn() RELEASE();

  // See Placement::parts().
  std::vector<Placement::Part> parts() REQUIRES(kAutomaticQueueMutex) {
    return placement_.parts(queue_.tasks_, launch());
  }
  // How much of the range a part has, and how much work that is.
  struct Sized {
    Placement::Part part;
    double size;
  };
  // Whether it pays to divide the launch like that; then send() each part. `name_whole(inputs)`
  // names what the launch uses, `name_part(inputs, at)` what a part uses.
  template <class F, class G>
  bool place(std::span<const Sized> parts, F&& name_whole, G&& name_part) REQUIRES(kAutomaticQueueMutex) {
    std::uint64_t bytes = 0;
    std::vector<std::size_t> ends;
    queue_.inputs_.begin(queue_.context_ids_);
    {
      const MutexLock lock(queue_.whole_.context().memory_mutex());
      name_whole(queue_.inputs_);
      bytes = queue_.inputs_.bytes();
      for (std::size_t at = 0; at < parts.size(); ++at) {
        ends.push_back(queue_.inputs_.next_part());
        name_part(queue_.inputs_, at);
      }
    }
    return place_gathered(parts, bytes, ends);
  }
  // First sends what the parts lack, then the parts, because a member that has its part sends nothing to others until
  // the part has ended. If this fails, some parts may have been sent.
  template <class KernelPart>
  cl_int send(std::span<const KernelPart> parts, bool wants_events) REQUIRES(kAutomaticQueueMutex) {
    cl_int error = with_links(lock_, [&](std::optional<ServerPair>& missing) REQUIRES(kAutomaticQueueMutex) {
      take_members(wants_events, missing);
      return missing ? CL_DEVICE_NOT_AVAILABLE : send_inputs(parts, missing);
    });
    for (std::size_t at = 0; at < parts.size() && error == CL_SUCCESS; ++at) {
      const Placement::Placed& placed = divided_.parts[at];
      const auto sent = [&](Ref<Event> event, auto sequence) {
        placement_.sent(queue_.tasks_, placed, kernel_, *members_[at], sequence, event.get());
        sent_.push_back(std::move(event));
      };
      // A link is missing only if a server was lost since, or the program has written elsewhere what the part reads.
      error = with_links(lock_, [&](std::optional<ServerPair>& missing) {
        return send_one(at, parts[at], &placed, wants_events, missing, sent);
      });
    }
    return error;
  }
  // The events of the parts that have been sent; null for parts without one.
  std::vector<Ref<Event>>& events() { return sent_; }
  // A marker that ends with the last part. Null if its server is lost.
  Ref<Event> join() REQUIRES(kAutomaticQueueMutex);
  // Names the event that the application gets for the kernel.
  void returns(const Event& event) { placement_.set_event(event, kernel_, divided_); }
  // Unlocks the queue for the next command, and submits what was sent.
  void end() RELEASE();

 private:
  // Sends the plan on the part's member, then calls sent(event, sequence). `placed`: null if the plan is not the part
  // itself.
  template <class Plan, class F>
  cl_int send_one(std::size_t part, Plan plan, const Placement::Placed* placed, bool wants_event,
                  std::optional<ServerPair>& missing, F&& sent) {
    PendingCommand command(*members_[part], plan.type, waits_, wants_event);
    if (placed != nullptr) command.set_placed();
    if (placed != nullptr && placed->sample != 0) command.sample(placed->sample, plan.type, waits_);
    const cl_int error = prepare_and_send(command, plan);
    missing = command.missing_link();
    if (error != CL_SUCCESS) return error;
    const std::uint64_t sequence = command.sequence();
    sent(command.sent(true), sequence);
    return error;
  }
  template <class KernelPart>
  cl_int send_inputs(std::span<const KernelPart> parts, std::optional<ServerPair>& missing) {
    for (std::size_t at = 0; at < parts.size(); ++at) {
      if (divided_.parts[at].why.estimate.bytes == 0) continue;
      const FetchPlan<KernelPart> plan{{}, parts[at]};
      const cl_int error = send_one(at, plan, nullptr, false, missing, [](auto&&...) {});
      if (error != CL_SUCCESS) return error;
    }
    return CL_SUCCESS;
  }
  Placement::Launch launch() const REQUIRES(kAutomaticQueueMutex);
  // Makes the queues of the parts, and finds the events that keep the order from now on. `joins`: join() follows.
  void take_members(bool joins, std::optional<ServerPair>& missing) REQUIRES(kAutomaticQueueMutex);
  // A link that is yet to be made, by which a part waits for events, or join() for a part.
  std::optional<ServerPair> link_for_events(bool joins) const;
  bool place_gathered(std::span<const Sized> parts, std::uint64_t bytes, const std::vector<std::size_t>& ends)
      REQUIRES(kAutomaticQueueMutex);

  AutomaticQueue& queue_;
  Placement& placement_;
  std::unique_lock<Mutex> lock_;
  Kernel& kernel_;
  const double size_;
  const WaitList given_;
  std::vector<Event*> waits_;
  std::vector<Ref<Event>> before_;
  std::vector<Ref<CommandQueue>> members_;  // by part
  Placement::Divided divided_;
  std::vector<Ref<Event>> sent_;
};

}  // namespace remotecl
