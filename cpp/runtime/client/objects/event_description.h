#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {

// The description of an event's command, for info queries and tools. Does not change once the event is shared.
struct EventDescription {
  cl_command_type type;
  std::uint64_t enqueued_ns = 0;    // host clock; 0 without profiling
  std::vector<EventId> waits = {};  // the events in its wait list
  std::string kernel_name = {};     // empty unless the command runs one
};

}  // namespace remotecl
