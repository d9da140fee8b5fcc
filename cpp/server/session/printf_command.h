#pragma once

#include <utility>

#include "server/session/printf_execution.h"

namespace remotecl::server {

// Wraps a command that runs a kernel that prints, so that it goes through PrintfExecution.
template <class Command>
struct PrintfCommand {
  static constexpr bool kLong = true;

  PrintfExecution* execution;
  Command command;
  bool kept = false;

  void keep() REQUIRES(session_lock) {
    command.keep();
    kept = true;
  }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    try {
      if (!kept) keep();
    } catch (const HeldTooMuch& refusal) {
      return execution->issuer().refused(refusal);
    }
    execution->start(issue,
                     [command = command](Issue& later) REQUIRES(session_lock) mutable { return command.issue(later); });
    return CL_SUCCESS;
  }
};

}  // namespace remotecl::server
