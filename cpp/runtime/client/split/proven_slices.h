#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/client/commands/commands.h"
#include "runtime/client/program/slice.h"

namespace remotecl {

// What the source of a kernel proves for one launch. A value.
struct ProvenSlices {
  std::vector<Slice> slices;
  std::string why_not;  // if not empty, nothing is proven
};

// Which bytes of its arguments the kernel touches, if that can be proven from the source of its program, its arguments,
// and the range. Any thread.
ProvenSlices prove_slices(Kernel& kernel, std::span<CommandQueue* const> queues, const NDRange& range,
                          cl_uint dimension);

}  // namespace remotecl
