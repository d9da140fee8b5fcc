#include <algorithm>
#include <bit>

#include "extras/kernel_sockets/client/network.h"
#include "icd/boundary.h"
#include "icd/kernel_sockets.h"
#include "remotecl/remotecl.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/stderr_notice.h"

namespace {

using namespace remotecl;

constexpr cl_uint kSockets = 64;

// Larger rings are faster up to 1 MiB, but a network of many sockets should not take all memory.
cl_uint ring_bytes_for(cl_uint sockets) {
  constexpr cl_uint kOfAllSockets = 64u << 20;
  return std::bit_floor(std::clamp(kOfAllSockets / 2 / sockets, 64u << 10, 1u << 20));
}

std::string name_of(const Device& device) {
  return device.text(CL_DEVICE_NAME) + " of " + device.session().address().text();
}

void require_sockets(const Device& device) {
  if (has_kernel_sockets(device)) return;
  if (device.is_automatic()) {
    notice("remotecl_create_network: a network is on one device; name one of those that the automatic one stands for");
  } else {
    notice("remotecl_create_network: kernels have no sockets on " + name_of(device) +
           ": its server was not started with --kernel-sockets, or kernels and host do not see the same memory there "
           "while a kernel runs (CL_DEVICE_REMOTECL_KERNEL_SOCKETS)");
  }
  throw icd::ApiError{CL_INVALID_OPERATION};
}

}  // namespace

bool icd::can_have_kernel_sockets(const Device& device) { return has_kernel_sockets(device); }

cl_mem remotecl_create_network(cl_context context, cl_device_id device, const remotecl_network_properties* properties,
                               cl_int* error) {
  return icd::create(error, [&] {
    Context& in = icd::object<Context>(context);
    Device& on = icd::object<Device>(device);
    const auto& devices = in.devices();
    icd::require(in.contains(on) || std::find(devices.begin(), devices.end(), &on) != devices.end(), CL_INVALID_DEVICE);
    remotecl_network_properties wanted{sizeof wanted, 0, 0};
    if (properties != nullptr) {
      icd::require(properties->struct_size >= sizeof wanted, CL_INVALID_VALUE);
      wanted = *properties;
    }
    require_sockets(on);
    icd::require(!on.lost(), CL_DEVICE_NOT_AVAILABLE);
    cl_int code = CL_SUCCESS;
    std::string why;
    if (wanted.sockets == 0) wanted.sockets = kSockets;
    if (wanted.ring_bytes == 0) wanted.ring_bytes = ring_bytes_for(wanted.sockets);
    Ref<MemoryObject> network = make_network(in, on, wanted.sockets, wanted.ring_bytes, code, why);
    if (!why.empty()) notice("remotecl_create_network on " + name_of(on) + ": " + why);
    icd::require(code == CL_SUCCESS, code);
    return network.detach()->handle();
  });
}

cl_int remotecl_stop_network(cl_mem network) {
  return icd::enter([&] {
    const MemoryObject& of = icd::object<MemoryObject>(network);
    icd::require(of.network_device() != nullptr, CL_INVALID_MEM_OBJECT);
    stop_network(of);
  });
}

cl_int remotecl_network_groups(cl_device_id device, size_t* groups) {
  return icd::enter([&] {
    const Device& of = icd::object<Device>(device);
    icd::require(groups != nullptr, CL_INVALID_VALUE);
    icd::require(!of.is_automatic(), CL_INVALID_DEVICE);
    *groups = resident_groups(of);
  });
}
