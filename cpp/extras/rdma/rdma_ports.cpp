#include "extras/rdma/rdma_ports.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "extras/rdma/cm_id.h"
#include "extras/rdma/rdma_library.h"
#include "extras/rdma/socket_address.h"

namespace remotecl {
namespace {

bool is_active(const RdmaLibrary& library, ibv_context* device, unsigned port, ibv_port_attr& state) {
  // The library's function fills in the attributes that it had at first, and those are the ones that are read here.
  return library.verbs.query_port(device, static_cast<std::uint8_t>(port),
                                  reinterpret_cast<_compat_ibv_port_attr*>(&state)) == 0 &&
         state.state == IBV_PORT_ACTIVE;
}

void add_ports(const RdmaLibrary& library, ibv_device* device, std::vector<RdmaPort>& ports) {
  const std::unique_ptr<ibv_context, decltype(library.verbs.close_device)> context(library.verbs.open_device(device),
                                                                                   library.verbs.close_device);
  ibv_device_attr attributes{};
  if (context == nullptr || library.verbs.query_device(context.get(), &attributes) != 0) return;
  for (unsigned port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr state{};
    if (!is_active(library, context.get(), port, state)) continue;
    ports.push_back({library.verbs.get_device_name(device), port, state.link_layer == IBV_LINK_LAYER_INFINIBAND, {}});
  }
}

// Whether another machine can connect to the address, without naming an interface.
bool is_reachable(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0)
    return false;
  if (entry.ifa_addr->sa_family == AF_INET) return true;
  return entry.ifa_addr->sa_family == AF_INET6 &&
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr);
}

std::vector<SocketAddress> local_addresses() {
  std::vector<SocketAddress> addresses;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, ::freeifaddrs);
  for (const ifaddrs* entry = found; entry != nullptr; entry = entry->ifa_next) {
    if (!is_reachable(*entry)) continue;
    const std::size_t size = entry->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&addresses.emplace_back().storage, entry->ifa_addr, size);
  }
  return addresses;
}

std::optional<std::vector<SocketAddress>>& remembered_addresses() {
  static std::optional<std::vector<SocketAddress>> addresses;
  return addresses;
}

// The connection manager knows which port serves an address. No table of the port says so: on InfiniBand the addresses
// are those of IPoIB, which a port does not know.
void add_address(const RdmaLibrary& library, SocketAddress address, std::vector<RdmaPort>& ports) {
  const CmId id(library);
  if (library.cm.bind_addr(id.get(), address.get()) != 0 || id.get()->verbs == nullptr) return;
  const char* const device = library.verbs.get_device_name(id.get()->verbs->device);
  const auto port = std::ranges::find_if(
      ports, [&](const RdmaPort& each) { return each.device == device && each.number == id.get()->port_num; });
  if (port != ports.end()) port->addresses.push_back(address_of(address.get()).host);
}

}  // namespace

bool has_rdma_device() {
  std::error_code error;
  return !std::filesystem::is_empty("/sys/class/infiniband", error) && !error;
}

void remember_local_addresses() { remembered_addresses() = local_addresses(); }

std::vector<RdmaPort> active_rdma_ports() {
  const RdmaLibrary& library = RdmaLibrary::get();
  int count = 0;
  const std::unique_ptr<ibv_device*[], decltype(library.verbs.free_device_list)> devices(
      library.verbs.get_device_list(&count), library.verbs.free_device_list);
  if (devices == nullptr || count == 0) throw RdmaUnavailable("there is no device");
  std::vector<RdmaPort> ports;
  for (int i = 0; i < count; ++i) {
    if (devices[i]->transport_type != IBV_TRANSPORT_IWARP) add_ports(library, devices[i], ports);
  }
  if (ports.empty()) throw RdmaUnavailable("no port of a device is active");
  const auto& remembered = remembered_addresses();
  for (const SocketAddress& address : remembered ? *remembered : local_addresses()) {
    add_address(library, address, ports);
  }
  return ports;
}

}  // namespace remotecl
