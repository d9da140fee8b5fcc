#pragma once

#include "server/program/kernel.h"
#include "server/session/network_command.h"
#include "server/session/printf_command.h"
#include "server/session/session.h"

namespace remotecl::server {

// The networks among the arguments of a kernel, and of all kernels of a recording.
NetworkArguments networks_of(const SessionObjects& objects, const DeviceKernel& kernel) REQUIRES(session_lock);
NetworkArguments networks_of(const SessionObjects& objects, const CommandBuffer& commands) REQUIRES(session_lock);

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

// The same for one whose kernels may have `networks` as arguments.
template <class Command>
void submit_kernels(Session& session, Queue& queue, Event* event, const Array<EventId>& wait_list, bool prints,
                    NetworkArguments networks, Command command) REQUIRES(session_lock) {
  if (networks.empty()) [[likely]]
    return submit_kernels(session, queue, event, wait_list, prints, std::move(command));
  submit_kernels(session, queue, event, wait_list, prints,
                 NetworkCommand<Command>{&session, std::move(networks), std::move(command)});
}

}  // namespace remotecl::server
