// In place of api_network.cpp where the library is built without sockets inside kernels.
#include "icd/boundary.h"
#include "icd/kernel_sockets.h"
#include "remotecl/remotecl.h"
#include "runtime/client/support/stderr_notice.h"

namespace {

using namespace remotecl;

[[noreturn]] void refuse() {
  notice(
      "this libremotecl.so was built without sockets inside kernels; use one that was built with "
      "REMOTECL_KERNEL_SOCKETS=ON");
  throw icd::ApiError{CL_INVALID_OPERATION};
}

}  // namespace

bool icd::can_have_kernel_sockets(const Device&) { return false; }

cl_mem remotecl_create_network(cl_context, cl_device_id, const remotecl_network_properties*, cl_int* error) {
  return icd::create(error, []() -> cl_mem { refuse(); });
}

cl_int remotecl_stop_network(cl_mem) { return CL_INVALID_MEM_OBJECT; }

cl_int remotecl_network_groups(cl_device_id, size_t*) {
  return icd::enter([] { refuse(); });
}
