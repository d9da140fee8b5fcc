#pragma once

#include "runtime/client/commands/pending_command.h"
#include "runtime/client/commands/placed_plan.h"

// A plan is a command before it has a device: a value that says what the command uses and how it is encoded
// for the queue that executes it. Only submit() turns plans into commands: of the queue that the application named, or
// of a member's queue if that has a QueuePlacement, which sees the plan as a CommandPlan. A plan has
//   cl_command_type type
//   void uses(auto& uses) const     names its memory by uses.reads(object, range) and uses.writes(object, range), for
//                                   a PendingCommand, a recording or a placement; and a kernel's networks by
//                                   uses.has_network(object)
//   cl_int send(PendingCommand&)    sends its message; or, if the message is everything,
//   auto message() const            the message without queue, event and wait list
// and replaces those members of Plan whose defaults do not fit. If uses() needs what prepare() finds out, the plan also
// has
//   void will_use(auto& uses) const  the same as far as it can be said before
namespace remotecl {

struct Plan {
  static constexpr bool kNeedsEvent = false;       // even if the application wants none
  static constexpr bool kPreparesKernels = false;  // see CommandPlan, as for launched() and work_items()

  Kernel* launched() const { return nullptr; }
  double work_items() const { return 0; }
  // Called before uses(), and again when two servers had to be linked first: changes nothing that refused() does not
  // undo. An error refuses the command.
  cl_int prepare(PendingCommand&) REQUIRES(kMemoryMutex) { return CL_SUCCESS; }
  // The command is refused after prepare() succeeded.
  void refused() REQUIRES(kMemoryMutex) {}
  // Adds the plan's details to the trace record.
  void describe(PendingCommand&) const {}
  // The command has been sent.
  void sent(PendingCommand&) REQUIRES(kMemoryMutex) {}
  // Returns true if the caller waits next, which submits the command, or submits it itself.
  bool is_awaited() const { return false; }
  // The rest of a blocking call. `own`: the command's event, which the application gets. `event`: where it is
  // returned, or null.
  cl_int outcome(CommandQueue&, Ref<Event>& /*own*/, Event** /*event*/) { return CL_SUCCESS; }
};

// Completes and sends the message of a command that has named its memory.
template <class Message>
void send_message(PendingCommand& command, Message&& message) REQUIRES(kMemoryMutex) {
  message.queue = command.queue().id();
  message.event = command.event_id();
  message.wait_list = command.wait_list();
  command.send(message);
}

// Sends a marker that ends at the command's position: after what it waits for and, in order, after all earlier
// commands.
inline void send_place_marker(PendingCommand& command) REQUIRES(kMemoryMutex) {
  send_message(command, EnqueueMarker{0, 0, 0, command.queue().in_order() ? 1u : 0u, {}});
}

template <class Plan>
cl_int bring_and_send(PendingCommand& command, Plan& plan) REQUIRES(kMemoryMutex) {
  plan.uses(command);
  if (command.error() != CL_SUCCESS) return command.error();
  plan.describe(command);
  if constexpr (requires { plan.message(); }) {
    send_message(command, plan.message());
    return CL_SUCCESS;
  } else {
    return plan.send(command);
  }
}

template <class Plan>
cl_int prepare_and_send(PendingCommand& command, Plan& plan) REQUIRES(kMemoryMutex) {
  if (command.error() != CL_SUCCESS) return command.error();
  if (const cl_int error = plan.prepare(command); error != CL_SUCCESS) return error;
  const cl_int error = bring_and_send(command, plan);
  if (error != CL_SUCCESS) plan.refused();
  return error;
}

// The rest of submit(), after the command was sent to this queue.
template <class Plan>
cl_int outcome_of(CommandQueue& queue, Plan& plan, Ref<Event>& own, Event** event) {
  const cl_int result = plan.outcome(queue, own, event);
  if (result == CL_SUCCESS && event != nullptr) *event = own.detach();
  return result;
}

// A plan that a placement has sent to one of its queue's members.
template <class Plan>
class PlacedPlan final : public CommandPlan {
 public:
  PlacedPlan(Plan& plan, bool wants_event) : plan_(plan), wants_event_(wants_event || Plan::kNeedsEvent) {}

  void will_use(MemoryUses& uses) override REQUIRES(kMemoryMutex) {
    if constexpr (requires { plan_.will_use(uses); }) {
      plan_.will_use(uses);
    } else {
      plan_.uses(uses);
    }
  }
  Kernel* kernel() const override { return plan_.launched(); }
  double work_items() const override { return plan_.work_items(); }
  bool prepares_kernels() const override { return Plan::kPreparesKernels; }

  cl_int send_to(const Choice& choice, std::optional<ServerPair>& missing) override {
    PendingCommand command(choice.member, plan_.type, choice.wait, wants_event_);
    if (choice.is_counted) command.set_placed();
    if (choice.sample != 0) [[unlikely]]
      command.sample(choice.sample, plan_.type, choice.wait);
    const cl_int error = prepare_and_send(command, plan_);
    missing = command.missing_link();
    if (error != CL_SUCCESS) return error;
    sequence_ = command.sequence();
    member_ = Ref<CommandQueue>(&choice.member);
    own_ = command.sent_and([&]() REQUIRES(kMemoryMutex) { plan_.sent(command); }, true);
    return CL_SUCCESS;
  }
  std::uint64_t sequence() const override { return sequence_; }
  Event* event() const override { return own_.get(); }

  // The rest of submit().
  cl_int outcome(Event** event) {
    if (!plan_.is_awaited()) member_->session().submit();
    return outcome_of(*member_, plan_, own_, event);
  }

 private:
  Plan& plan_;
  const bool wants_event_;
  Ref<CommandQueue> member_;
  Ref<Event> own_;
  std::uint64_t sequence_ = 0;
};

template <class Plan>
[[gnu::noinline]] cl_int submit_placed(QueuePlacement& placement, Plan& plan, WaitList wait, Event** event) {
  PlacedPlan<Plan> placed(plan, event != nullptr);
  const cl_int error = placement.submit(placed, wait);
  return error != CL_SUCCESS ? error : placed.outcome(event);
}

template <class Plan>
cl_int submit(CommandQueue& queue, Plan plan, WaitList wait, Event** event) {
  if (QueuePlacement* const placement = queue.placement()) [[unlikely]]
    return submit_placed(*placement, plan, wait, event);
  Ref<Event> own;
  const cl_int error = with_links([&](std::optional<ServerPair>& missing) {
    PendingCommand command(queue, plan.type, wait, event != nullptr || Plan::kNeedsEvent);
    const cl_int error = prepare_and_send(command, plan);
    missing = command.missing_link();
    if (error == CL_SUCCESS) {
      own = command.sent_and([&]() REQUIRES(kMemoryMutex) { plan.sent(command); }, plan.is_awaited());
    }
    return error;
  });
  return error != CL_SUCCESS ? error : outcome_of(queue, plan, own, event);
}

}  // namespace remotecl
