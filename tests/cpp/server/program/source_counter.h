#pragma once

#include <atomic>

namespace remotecl::testing {

// How many sources the driver was given. Whatever the driver, nothing is compiled without one.
extern std::atomic<int> sources;

}  // namespace remotecl::testing
