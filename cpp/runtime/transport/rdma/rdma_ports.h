#pragma once

#include <string>
#include <vector>

namespace remotecl {

// A port of this machine that can carry RDMA now. A value.
struct RdmaPort {
  std::string device;
  unsigned number = 0;
  bool is_infiniband = false;          // else RoCE or iWARP over Ethernet
  std::vector<std::string> addresses;  // that connections can be made to
};

// Returns true if this machine has an RDMA device: a look at the kernel's list, before any library is loaded.
bool has_rdma_device();

// The active ports of all devices. Throws RdmaUnavailable, which names what is missing, if there is none.
std::vector<RdmaPort> active_rdma_ports();

}  // namespace remotecl
