#pragma once

#include "runtime/client/commands/pending_command.h"

// A plan is a command before it has a device: a value that says what the command uses and how it is encoded
// for the queue that executes it. Only submit() turns plans into commands, so the choice of another queue on
// another device belongs there. A plan has
//   cl_command_type type
//   void uses(auto& uses) const     names its memory by uses.reads(object, range) and uses.writes(object, range), for
//                                   a PendingCommand or a recording
//   cl_int send(PendingCommand&)    sends its message; or, if the message is everything,
//   auto message() const            the message without queue, event and wait list
// and replaces those members of Plan whose defaults do not fit.
namespace remotecl {

struct Plan {
  static constexpr bool kNeedsEvent = false;  // even if the application wants none

  // Called before uses(). An error refuses the command.
  cl_int prepare(PendingCommand&) { return CL_SUCCESS; }
  // The command is refused after prepare() succeeded.
  void refused() {}
  // Adds the plan's details to the trace record.
  void describe(PendingCommand&) const {}
  // The command has been sent; the context's memory_mutex is still held.
  void sent(PendingCommand&) {}
  // Returns true if the caller waits next, which submits the command, or submits it itself.
  bool is_awaited() const { return false; }
  // The rest of a blocking call. `own`: the command's event, which the application gets. `event`: where it is
  // returned, or null.
  cl_int outcome(CommandQueue&, Ref<Event>& /*own*/, Event** /*event*/) { return CL_SUCCESS; }
};

// Completes and sends the message of a command that has named its memory.
template <class Message>
void send_message(PendingCommand& command, Message&& message) {
  message.queue = command.queue().id();
  message.event = command.event_id();
  message.wait_list = command.wait_list();
  command.send(message);
}

// Sends a marker that ends at the command's place: after what it waits for and, in order, after all earlier
// commands.
inline void send_place_marker(PendingCommand& command) {
  send_message(command, EnqueueMarker{0, 0, 0, command.queue().in_order() ? 1u : 0u, {}});
}

template <class Plan>
cl_int bring_and_send(PendingCommand& command, Plan& plan) {
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
cl_int submit(CommandQueue& queue, Plan plan, WaitList wait, Event** event) {
  PendingCommand command(queue, plan.type, wait, event != nullptr || Plan::kNeedsEvent);
  if (command.error() != CL_SUCCESS) return command.error();
  if (const cl_int error = plan.prepare(command); error != CL_SUCCESS) return error;
  if (const cl_int error = bring_and_send(command, plan); error != CL_SUCCESS) {
    plan.refused();
    return error;
  }
  Ref<Event> own = command.sent_and([&] { plan.sent(command); }, plan.is_awaited());
  const cl_int result = plan.outcome(command.queue(), own, event);
  if (result == CL_SUCCESS && event != nullptr) *event = own.detach();
  return result;
}

}  // namespace remotecl
