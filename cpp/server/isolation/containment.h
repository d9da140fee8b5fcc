#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// How a session's process is contained.
struct Containment {
  std::string folder;              // its own; see PrivateFolder
  std::string user;                // whose process it becomes, where the daemon is root's; empty: one of its own
  std::vector<std::string> paths;  // that it may read beside the system's; see driver_paths()
};

// Leaves this process what a driver, its compiler and a session need, and nothing else of what its user has: whatever
// code a client brings can then do no more. Before the second thread, and before the driver is opened. What could not
// be done, each as words for people.
std::vector<std::string> contain(const Containment& containment);

// Files and folders of GPUs, and of other devices that OpenCL has drivers for, that this machine has.
std::vector<std::string> device_files();

// Tries on a process of its own what contain() could do here, and prints that, for `remotecl doctor`. The exit code.
int print_containment(const std::string& user);

}  // namespace remotecl::server
