#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "extras/scheduling/placement/placement.h"
#include "runtime/base/mutex.h"
#include "runtime/client/commands/placed_plan.h"
#include "runtime/client/objects/command_queue.h"

namespace remotecl {

// Stands for the mutex of every AutomaticQueue in clang's checks, as kMemoryMutex does for those of contexts.
struct REMOTECL_TSA(capability("mutex")) AutomaticQueueMutex {};
inline constexpr AutomaticQueueMutex kAutomaticQueueMutex;

// The queues that make up a queue on the automatic device: one on each member that has had a command, made at first
// use. An in-order queue keeps its order: when the member changes, the next command waits for a marker behind the last
// command, or for markers on all members if the last command does not end after all earlier ones. Any thread.
//
// Lock order: before the context's memory_mutex and the placement's.
class AutomaticQueue final : public QueuePlacement {
 public:
  // `whole`: the queue that the application knows, which owns this. `placement` must outlive it.
  AutomaticQueue(CommandQueue& whole, Placement& placement);
  ~AutomaticQueue() override;

  static AutomaticQueue* of(const CommandQueue& queue) { return static_cast<AutomaticQueue*>(queue.placement()); }

  cl_int submit(CommandPlan& plan, WaitList wait) override;
  cl_int enqueue_point(bool is_barrier, cl_command_type type, WaitList wait, Event** event) override;
  void flush() override;
  cl_int finish() override;
  bool owes_host() override;
  void let_go() override;

  // Returns the queues on these members (at least one) for a kernel that is divided among them, and appends the events
  // that keep the order to `before`. A command that ends with the division has to go into the first of these queues.
  std::vector<Ref<CommandQueue>> all_of(std::span<Device* const> devices, std::vector<Ref<Event>>& before);

 private:
  friend class AutomaticTurn;

  struct Member {
    Ref<CommandQueue> queue;     // null: it has had no command
    std::uint64_t finished = 0;  // its last command when finish() ended
    bool is_loss_reported = false;
  };

  Mutex& mutex() RETURN_CAPABILITY(kAutomaticQueueMutex) { return mutex_; }
  const std::vector<Device*>& devices() const { return whole_.device().members(); }
  // A marker or barrier whose message is not submitted yet, because the caller holds a lock. Null if the server is
  // lost, or if it needs a link that is yet to be made, which `missing` then names; see with_links().
  static Ref<Event> add_point(CommandQueue& queue, bool is_barrier, cl_command_type type, WaitList wait,
                              std::optional<ServerPair>& missing);
  // A marker behind all earlier commands of the queue; likewise, but it needs no link.
  static Ref<Event> add_marker(CommandQueue& queue);
  std::size_t index_of(const Device& device) const;
  // Null if its first command needs a link, as add_point().
  CommandQueue* member(std::size_t index, std::optional<ServerPair>& missing) REQUIRES(kAutomaticQueueMutex);
  // The member of the last command; if that is lost, any member that is not.
  std::size_t likely_member() REQUIRES(kAutomaticQueueMutex);
  // The member of the last kernel; if that is lost, likely_member().
  std::size_t home() REQUIRES(kAutomaticQueueMutex);
  // Adds a marker behind all earlier commands to each member's queue, and returns their events.
  std::vector<Ref<Event>> mark_all() REQUIRES(kAutomaticQueueMutex);
  // In an in-order queue: the events that a command on this member waits for, besides the member's own commands.
  std::vector<Ref<Event>> before(std::size_t index) REQUIRES(kAutomaticQueueMutex);
  // If a server was lost, makes the order of earlier commands unknown, because commands that waited for that server
  // wait no more.
  void look_for_losses() REQUIRES(kAutomaticQueueMutex);
  // See enqueue_point(). Null if no member is there, or a link is missing.
  Ref<Event> add_points(bool is_barrier, cl_command_type type, WaitList wait, std::optional<ServerPair>& missing)
      REQUIRES(kAutomaticQueueMutex);

  CommandQueue& whole_;
  Placement& placement_;
  const std::vector<schedule::DeviceId> context_ids_;  // of the context's devices
  Mutex mutex_;
  std::vector<Member> members_ GUARDED_BY(kAutomaticQueueMutex);  // by position among the device's members
  std::size_t last_ GUARDED_BY(kAutomaticQueueMutex);             // the member that has had the last command
  // The last command ends after all earlier ones, on any member.
  bool is_last_after_all_ GUARDED_BY(kAutomaticQueueMutex) = true;
  std::uint64_t losses_ GUARDED_BY(kAutomaticQueueMutex) = 0;         // how many servers were lost at the last check
  std::size_t home_ GUARDED_BY(kAutomaticQueueMutex);                 // the member that has had the last kernel
  std::vector<Ref<Event>> barrier_ GUARDED_BY(kAutomaticQueueMutex);  // what commands of new members wait for
  GatheredInputs inputs_ GUARDED_BY(kAutomaticQueueMutex);
  QueueTasks tasks_;
};

// One command of a queue on the automatic device from the choice of a member until it has been sent. Holds the queue's
// lock meanwhile, but not while it makes a link: other commands may come then. One thread.
class REMOTECL_TSA(scoped_lockable) AutomaticTurn {
 public:
  AutomaticTurn(AutomaticQueue& queue, WaitList wait) ACQUIRE(kAutomaticQueueMutex);
  ~AutomaticTurn() RELEASE();

  // Chooses the member for the command: the one that the placement chooses for a kernel, the one of the queue's kernels
  // (which may differ from those of other queues) for what prepares them, and else the one that holds most of what the
  // command uses. Returns CL_SUCCESS or why there is none.
  cl_int choose_for(CommandPlan& plan) REQUIRES(kAutomaticQueueMutex);

  // Calls attempt(missing), which begins with take_member() and sends the command, as the other with_links() does, but
  // unlocks the queue while a link is made.
  template <class F>
  cl_int with_links(F&& attempt) REQUIRES(kAutomaticQueueMutex) {
    for (;;) {
      std::optional<ServerPair> missing;
      const cl_int result = attempt(missing);
      if (!missing) [[likely]]
        return result;
      lock_.unlock();
      missing->first->group().links.connected(*missing->first, *missing->second);
      lock_.lock();
    }
  }
  // Makes the queue of the chosen member, and finds the events that keep the order from now on.
  cl_int take_member(std::optional<ServerPair>& missing) REQUIRES(kAutomaticQueueMutex);
  // For the taken member: the wait list also has the events that keep the order.
  CommandPlan::Choice choice() const { return {*member_, waits_, placed_.ticket != 0, placed_.sample}; }
  // The command was sent. Without this call the queue's order stays as it was.
  void sent(const CommandPlan& plan) REQUIRES(kAutomaticQueueMutex);

 private:
  // Learns what the command uses.
  void gather(CommandPlan& plan) REQUIRES(kAutomaticQueueMutex);
  cl_int choose_holder() REQUIRES(kAutomaticQueueMutex);
  cl_int choose_for(Kernel& kernel, double size) REQUIRES(kAutomaticQueueMutex);
  cl_int choose(std::size_t index) REQUIRES(kAutomaticQueueMutex);
  // Asks the placement.
  Placement::Placed place(Kernel& kernel, double size) REQUIRES(kAutomaticQueueMutex);

  AutomaticQueue& queue_;
  std::unique_lock<Mutex> lock_;
  const WaitList given_;
  std::vector<Event*> waits_;
  std::vector<Ref<Event>> before_;
  std::size_t index_ = 0;
  Ref<CommandQueue> member_;
  Kernel* kernel_ = nullptr;
  Placement::Placed placed_;
};

}  // namespace remotecl
