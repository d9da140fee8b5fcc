#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/admission/users.h"
#include "server/arguments/session_arguments.h"
#include "server/driver/device.h"
#include "server/quota/session_counters.h"

namespace remotecl::server {

// Opens in the daemon what a kernel of a session's process asks for, and returns its descriptor or a negative errno.
// `address`: as the kernel writes it; `backlog`: negative to connect, otherwise to bind. Any thread; may block.
using OpenForKernel = std::function<int(const std::string& address, int backlog)>;

// Provides sessions with arguments of kernels that are no buffers. This one provides none. Outlives the sessions
// of its process; any thread.
class ArgumentProvider {
 public:
  virtual ~ArgumentProvider() = default;

  // A header that programs may include, with what kernels do with the arguments. Both live as long as the process.
  struct Header {
    std::string_view name{}, text{};  // empty: there is none
  };
  virtual Header header() const { return {}; }
  // Whether sessions may have arguments for kernels of the device. Makes the device's context.
  virtual bool serves(Device&) const { return false; }
  // The grant outlives the session.
  virtual Ref<SessionArguments> begin(const Grant& /*grant*/, std::uint64_t /*session*/,
                                      const Ref<SessionCounters>& /*counters*/) const {
    return make_ref<SessionArguments>();
  }
  // For a session that has a process of its own; null if its kernels may not have anything opened.
  virtual OpenForKernel opener(const Grant& /*grant*/, std::uint64_t /*session*/) const { return nullptr; }
};

// Provides none.
const ArgumentProvider& no_arguments();

}  // namespace remotecl::server
