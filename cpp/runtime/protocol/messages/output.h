#pragma once

#include "runtime/protocol/messages/message.h"

namespace remotecl {

// What a kernel printed: the next bytes of the client's standard output.
struct KernelOutput {
  REMOTECL_MESSAGE(KernelOutput);
  Bytes text;
  REMOTECL_FIELDS(text)
};

}  // namespace remotecl
