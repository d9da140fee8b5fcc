#pragma once

#include <memory>
#include <variant>

#include "server/completion/cl.h"
#include "server/execution/native_command.h"
#include "server/program/kernel.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The commands of a recording, resolved: executing one is a single call of the driver.

struct RecordedKernel {
  std::unique_ptr<DeviceKernel> kernel;         // of this command alone: nothing else sets its arguments
  std::shared_ptr<ArgumentSnapshot> arguments;  // the arguments that the native kernel got
  bool prints = false;
  KernelRange range;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const REQUIRES(session_lock) {
    return range.enqueue(queue, kernel->native, events);
  }
};

// A barrier, or a command that does nothing: only orders other commands.
struct RecordedPoint {
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueMarkerWithWaitList(queue, events.count, events.list, events.event);
  }
};

using RecordedStep =  //
    std::variant<RecordedPoint, RecordedKernel, CopyBufferCommand, CopyRectCommand, FillBufferCommand,
                 CopyPixelsCommand, FillImageCommand>;

}  // namespace remotecl::server
