#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/arguments/provided_argument.h"
#include "server/execution/issue.h"
#include "server/execution/strand.h"

namespace remotecl::server {

// Those that one command's kernels use.
using ProvidedArguments = std::vector<Ref<ProvidedArgument>>;

// Reports to arguments a command that uses them, from before the command can begin until after it has ended.
class ArgumentUse {
 public:
  ArgumentUse(Strand& strand, ProvidedArguments arguments) : strand_(&strand), arguments_(std::move(arguments)) {
    for (const auto& each : arguments_) each->command_begins();
  }
  // Posts the last references to the strand, because destroying them may block.
  ~ArgumentUse() {
    for (const auto& each : arguments_) each->command_ended();
    strand_->post([kept = std::move(arguments_)] {});
  }
  ArgumentUse(const ArgumentUse&) = delete;
  ArgumentUse& operator=(const ArgumentUse&) = delete;

 private:
  const Ref<Strand> strand_;
  ProvidedArguments arguments_;
};

// Wraps a command whose kernels use provided arguments.
template <class Command>
struct ArgumentCommand {
  static constexpr bool kLong = false;

  Strand* strand;
  ProvidedArguments arguments;
  Command command;

  void keep() REQUIRES(session_lock) { command.keep(); }
  std::uint64_t commands_given() const {
    if constexpr (requires { command.commands_given(); }) {
      return command.commands_given();
    } else {
      return 1;
    }
  }
  double cost() const {
    if constexpr (requires { command.cost(); }) {
      return command.cost();
    } else {
      return 1;
    }
  }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    auto use = std::make_shared<ArgumentUse>(*strand, std::move(arguments));
    issue.needs_event = true;
    const cl_int error = issue.end_by_barrier([&]() REQUIRES(session_lock) { return command.issue(issue); });
    // Without an event, nothing was enqueued or the command has already ended.
    if (error == CL_SUCCESS && issue.native) strand->completions().notify(issue.native.get(), [use](cl_int) {});
    return error;
  }
};

}  // namespace remotecl::server
