#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// The native events that an enqueue waits for, and where it stores its own event, if not null.
struct EventArguments {
  cl_uint count;
  const cl_event* list;
  cl_event* event;
};

}  // namespace remotecl::server
