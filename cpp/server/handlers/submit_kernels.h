#pragma once

#include "server/program/kernel.h"
#include "server/session/argument_command.h"
#include "server/session/printf_command.h"
#include "server/session/session.h"

namespace remotecl::server {

// The provided ones among the arguments of a kernel, and of all kernels of a recording.
ProvidedArguments provided_for(const SessionObjects& objects, const DeviceKernel& kernel) REQUIRES(session_lock);
ProvidedArguments provided_for(const SessionObjects& objects, const CommandBuffer& commands) REQUIRES(session_lock);

// Submits a command that runs kernels. `prints`: one of them prints.
template <class Command>
void submit_kernels(Session& session, Queue& queue, Event* event, const Array<EventId>& wait_list, bool prints,
                    Command command) REQUIRES(session_lock) {
  Issuer& issuer = session.issuer();
  if (prints) {
    issuer.submit(queue, event, wait_list, PrintfCommand<Command>{&session.printf_execution(), std::move(command)});
  } else {
    issuer.submit(queue, event, wait_list, std::move(command));
  }
}

// Like submit_kernels() above, for a command that may use provided arguments.
template <class Command>
void submit_kernels(Session& session, Queue& queue, Event* event, const Array<EventId>& wait_list, bool prints,
                    ProvidedArguments arguments, Command command) REQUIRES(session_lock) {
  if (arguments.empty()) [[likely]]
    return submit_kernels(session, queue, event, wait_list, prints, std::move(command));
  submit_kernels(session, queue, event, wait_list, prints,
                 ArgumentCommand<Command>{&session, std::move(arguments), std::move(command)});
}

}  // namespace remotecl::server
