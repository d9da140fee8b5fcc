#pragma once

#include <utility>

#include "server/session/session.h"

namespace remotecl::server {

// A command that runs a kernel of a program that prints: the same command, on the slow road of Session::print.
template <class Command>
struct PrintingCommand {
  static constexpr bool kLong = true;

  Session* session;
  Command command;
  bool kept = false;

  void keep(Session&) {
    command.keep(*session);
    kept = true;
  }
  cl_int issue(Issue& issue) {
    try {
      if (!kept) keep(*session);
    } catch (const HeldTooMuch& refusal) {
      return session->issuer().refused(refusal);
    }
    session->print(issue, [command = command](Issue& later) mutable { return command.issue(later); });
    return CL_SUCCESS;
  }
};

}  // namespace remotecl::server
