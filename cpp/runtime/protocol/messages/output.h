#pragma once

#include "runtime/protocol/messages/message.h"

namespace remotecl {

// Text that a kernel printed, to be written to the client's standard output.
struct KernelOutput {
  REMOTECL_MESSAGE(KernelOutput);
  Bytes text;
  REMOTECL_FIELDS(text)
};

}  // namespace remotecl
