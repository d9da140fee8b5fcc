#pragma once

#include <stdexcept>
#include <string>

#include "icd/environment.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

// Turns the automatic device on, with this policy.
inline cl_device_id automatic_device(const char* policy) {
  char* error = nullptr;
  const auto turn_on = library_function<decltype(remotecl_auto)>("remotecl_auto");
  const cl_device_id device = turn_on(policy, &error);
  if (device == nullptr) throw std::runtime_error(error == nullptr ? "no automatic device" : error);
  return device;
}

}  // namespace remotecl::testing
