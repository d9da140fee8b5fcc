#pragma once

#include <atomic>

namespace remotecl::testing {

// How many sources the driver was given. Whatever the driver, nothing is compiled without one.
extern std::atomic<int> sources;
// How many programs it has linked.
extern std::atomic<int> links;
// Whether it has no binaries of compiled objects.
extern std::atomic<bool> hides_objects;

// Its builds wait as long as this exists.
class HeldBuilds {
 public:
  HeldBuilds();
  ~HeldBuilds();
  HeldBuilds(const HeldBuilds&) = delete;
  HeldBuilds& operator=(const HeldBuilds&) = delete;
  // How many wait.
  static int waiting();
};

}  // namespace remotecl::testing
