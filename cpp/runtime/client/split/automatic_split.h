#pragma once

#include "runtime/client/commands/commands.h"

namespace remotecl {

// A kernel of a queue on the automatic device. Divides it among members if that pays, and if it is proven from the
// source of its program that no part touches what another one writes; else one member runs it whole. Waits for nothing.
// See enqueue_kernel().
cl_int enqueue_kernel_on_members(CommandQueue& queue, Kernel& kernel, const NDRange& range, WaitList wait,
                                 Event** event);

}  // namespace remotecl
