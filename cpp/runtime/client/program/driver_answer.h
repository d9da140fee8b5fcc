#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {

// The answer of a server's driver. A copy, because the message is overwritten when the next one is read.
struct DriverAnswer {
  cl_int error;
  std::size_t size;
  std::vector<std::byte> value;

  static DriverAnswer copy_of(const NativeAnswer& report) {
    return {report.error, report.size, {report.value.begin(), report.value.end()}};
  }
};

}  // namespace remotecl
