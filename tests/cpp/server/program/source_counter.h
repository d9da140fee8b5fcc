#pragma once

#include <atomic>

namespace remotecl::testing {

// How many sources the driver was given. Whatever the driver, nothing is compiled without one.
extern std::atomic<int> sources;
// How many programs it has linked.
extern std::atomic<int> links;
// Whether it has no binaries of compiled objects.
extern std::atomic<bool> hides_objects;

}  // namespace remotecl::testing
