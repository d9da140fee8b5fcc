#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {

// What a server's driver has answered, as a copy of the message: that goes when the next one is read.
struct DriverAnswer {
  cl_int error;
  std::size_t size;
  std::vector<std::byte> value;

  static DriverAnswer copy_of(const NativeAnswer& report) {
    return {report.error, report.size, {report.value.begin(), report.value.end()}};
  }
};

}  // namespace remotecl
