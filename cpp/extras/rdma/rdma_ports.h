#pragma once

#include <string>
#include <vector>

namespace remotecl {

// A port of this machine that can carry RDMA now. A value.
struct RdmaPort {
  std::string device;
  unsigned number = 0;
  bool is_infiniband = false;          // else RoCE
  std::vector<std::string> addresses;  // that connections can be made to
};

// Returns true if this machine has an RDMA device: a look at the kernel's list, before any library is loaded.
bool has_rdma_device();

// Remembers this machine's present addresses as those that ports can have, for a process that may not ask the system
// later. Call it before there are other threads.
void remember_local_addresses();

// The active ports of all InfiniBand and RoCE devices. Throws RdmaUnavailable, which names what is missing, if there is
// none.
std::vector<RdmaPort> active_rdma_ports();

}  // namespace remotecl
