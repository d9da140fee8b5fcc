#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/execution/issue.h"
#include "server/execution/strand.h"
#include "server/session/network_argument.h"

namespace remotecl::server {

// The networks that one command's kernels use.
using NetworkArguments = std::vector<Ref<NetworkArgument>>;

// Reports to networks the kernels that use them, from before the kernels can begin until after they have ended.
class NetworkUse {
 public:
  NetworkUse(Strand& strand, NetworkArguments networks) : strand_(&strand), networks_(std::move(networks)) {
    for (const auto& each : networks_) each->network()->kernel_begins();
  }
  // Posts the last references to the strand, because destroying them may block.
  ~NetworkUse() {
    for (const auto& each : networks_) each->network()->kernel_ended();
    strand_->post([kept = std::move(networks_)] {});
  }
  NetworkUse(const NetworkUse&) = delete;
  NetworkUse& operator=(const NetworkUse&) = delete;

 private:
  const Ref<Strand> strand_;
  NetworkArguments networks_;
};

// Wraps a command whose kernels have networks as arguments.
template <class Command>
struct NetworkCommand {
  static constexpr bool kLong = false;

  Strand* strand;
  NetworkArguments networks;
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
    auto use = std::make_shared<NetworkUse>(*strand, std::move(networks));
    issue.needs_event = true;
    const cl_int error = issue.end_by_barrier([&]() REQUIRES(session_lock) { return command.issue(issue); });
    // Without an event, nothing was enqueued or the command has already ended.
    if (error == CL_SUCCESS && issue.native) strand->completions().notify(issue.native.get(), [use](cl_int) {});
    return error;
  }
};

}  // namespace remotecl::server
