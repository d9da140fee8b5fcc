#include "runtime/client/objects/network.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "runtime/client/session/session.h"
#include "runtime/client/support/ids.h"
#include "runtime/protocol/device_figures.h"

namespace remotecl {
namespace {

struct Creation {
  std::atomic<bool> is_there{false};
  cl_int error = CL_DEVICE_NOT_AVAILABLE;
  std::uint64_t size = 0;
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
  const auto answer = std::make_shared<Creation>();
  Session& session = device.session();
  link_servers(context, session);
  const ObjectId id = next_id();
  const Token token = session.expect_reply([answer](std::uint16_t, const Bytes* payload) {
    NetworkCreated report{};
    if (payload != nullptr && Decoder(*payload).read(report)) {
      answer->error = report.error;
      answer->size = report.size;
      answer->text = report.text;
    }
    answer->is_there.store(true, std::memory_order_release);
  });
  session.send(CreateNetwork{id, token, device.index(), sockets, ring_bytes});
  session.wait([&answer] { return answer->is_there.load(std::memory_order_acquire); });
  if (!answer->is_there.load(std::memory_order_acquire)) {
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
