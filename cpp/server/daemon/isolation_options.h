#pragma once

#include <string>

#include "server/isolation/containment.h"

namespace remotecl::server {

// The options for processes of single sessions.
struct IsolationOptions {
  bool is_on = false;
  bool is_off = false;
  bool prints_containment = false;
  std::string filter = "auto";  // or a name of CallFilter
  Containment containment;

  bool is_chosen() const { return is_on || is_off; }
};

// The options that the daemon gives such a process.
struct SessionProcessOptions {
  bool is_one = false;
  bool has_store = false;  // the daemon has a store, which the process uses through it
  std::string rdma;        // where the process accepts RDMA channels; empty: it accepts none
};

}  // namespace remotecl::server
