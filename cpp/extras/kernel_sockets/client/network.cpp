#include "extras/kernel_sockets/client/network.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/client/session/request.h"
#include "runtime/client/support/ids.h"
#include "runtime/protocol/device_figures.h"

namespace remotecl {
namespace {

struct Creation {
  cl_int error;
  std::uint64_t size;
  std::string text;
};

// Kernels reach names on other servers over their own server's links, and a kernel cannot have a link made.
void link_servers(const Context& context, Session& session) {
  std::vector<Session*> others;
  for (const Device* device : context.devices()) {
    Session& other = device->session();
    if (&other == &session || !has_kernel_sockets(*device) || std::ranges::find(others, &other) != others.end())
      continue;
    others.push_back(&other);
    session.group().links.connect({&session, &other});
  }
  for (Session* const other : others) session.group().links.connected(session, *other);
}

}  // namespace

bool has_kernel_sockets(const Device& device) {
  return !device.is_automatic() && device.number<cl_bool>(kDeviceKernelSockets, CL_FALSE) != CL_FALSE;
}

std::size_t resident_groups(const Device& device) {
  return std::max<cl_uint>(device.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 1), 1);
}

Ref<MemoryObject> make_network(Context& context, Device& device, std::uint32_t sockets, std::uint32_t ring_bytes,
                               cl_int& error, std::string& why) {
  Session& session = device.session();
  link_servers(context, session);
  const ObjectId id = next_id();
  const auto answer = ask<NetworkCreated>(
      session,
      [&](Token token) {
        session.send(CreateNetwork{id, token, device.index(), sockets, ring_bytes});
      },
      [](const NetworkCreated& report) {
        return Creation{report.error, report.size, std::string(report.text)};
      });
  if (!answer) {
    error = CL_DEVICE_NOT_AVAILABLE;
    return nullptr;
  }
  error = answer->error;
  why = answer->text;
  if (error != CL_SUCCESS) return nullptr;
  return make_ref<MemoryObject>(Ref<Context>(&context), device, answer->size, id);
}

void stop_network(const MemoryObject& network) {
  Session& session = network.network_device()->session();
  session.send(StopNetwork{network.id()});
  session.submit_now();
}

}  // namespace remotecl
