#pragma once

#include <string>
#include <vector>

#include "runtime/containment/system_call_filter.h"

namespace remotecl::server {

// How a session's process is contained.
struct Containment {
  std::string folder;              // its own; see PrivateFolder
  std::string user;                // the user that it becomes if the daemon runs as root; empty: a user of its own
  std::vector<std::string> paths;  // what it may read besides the system's folders; see driver_paths()
  bool has_rdma = false;           // it may use RDMA devices, and lock memory for them
  bool has_sockets = false;        // its kernels have sockets, which the daemon hands over
  CallFilter filter = CallFilter::kAllowList;
};

// Restricts this process to what a driver, its compiler and a session need, so that code from a client can
// reach nothing else that the user has. Must run before the process has a second thread and opens the driver.
// Returns what could not be restricted, each as text for people.
std::vector<std::string> contain(const Containment& containment);

// Tries contain() in a process of its own and prints the result, for `remotecl doctor`. Returns the exit
// code.
int print_containment(const std::string& user);

}  // namespace remotecl::server
