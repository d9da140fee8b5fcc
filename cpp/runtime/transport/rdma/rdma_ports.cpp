#include "runtime/transport/rdma/rdma_ports.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "runtime/transport/rdma/rdma_library.h"

namespace remotecl {
namespace {

constexpr int kAddressesMax = 64;  // entries of a port's table that are looked at; few are in use

std::string text_of(const ibv_gid& gid) {
  in6_addr address;
  std::memcpy(&address, gid.raw, sizeof(address));
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    ::inet_ntop(AF_INET, gid.raw + 12, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  }
  return text.data();
}

std::vector<std::string> addresses_of(const RdmaLibrary& library, ibv_context* device, unsigned port, int entries) {
  std::vector<std::string> addresses;
  for (int i = 0; i < std::min(entries, kAddressesMax); ++i) {
    ibv_gid gid{};
    if (library.verbs.query_gid(device, static_cast<std::uint8_t>(port), i, &gid) != 0) continue;
    if (gid.global.interface_id == 0) continue;
    std::string text = text_of(gid);
    // RoCE v1 and v2 have an entry each.
    if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) addresses.push_back(std::move(text));
  }
  return addresses;
}

void add_ports(const RdmaLibrary& library, ibv_device* device, std::vector<RdmaPort>& ports) {
  const std::unique_ptr<ibv_context, decltype(library.verbs.close_device)> context(library.verbs.open_device(device),
                                                                                   library.verbs.close_device);
  ibv_device_attr attributes{};
  if (context == nullptr || library.verbs.query_device(context.get(), &attributes) != 0) return;
  for (unsigned port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr state{};
    // The library's function fills in the attributes that it had at first, and those are the ones that are read here.
    const int failure = library.verbs.query_port(context.get(), static_cast<std::uint8_t>(port),
                                                 reinterpret_cast<_compat_ibv_port_attr*>(&state));
    if (failure != 0 || state.state != IBV_PORT_ACTIVE) continue;
    ports.push_back({library.verbs.get_device_name(device), port, state.link_layer == IBV_LINK_LAYER_INFINIBAND,
                     addresses_of(library, context.get(), port, state.gid_tbl_len)});
  }
}

}  // namespace

bool has_rdma_device() {
  std::error_code error;
  return !std::filesystem::is_empty("/sys/class/infiniband", error) && !error;
}

std::vector<RdmaPort> active_rdma_ports() {
  const RdmaLibrary& library = RdmaLibrary::get();
  int count = 0;
  const std::unique_ptr<ibv_device*[], decltype(library.verbs.free_device_list)> devices(
      library.verbs.get_device_list(&count), library.verbs.free_device_list);
  if (devices == nullptr || count == 0) throw RdmaUnavailable("there is no device");
  std::vector<RdmaPort> ports;
  for (int i = 0; i < count; ++i) add_ports(library, devices[i], ports);
  if (ports.empty()) throw RdmaUnavailable("no port of a device is active");
  return ports;
}

}  // namespace remotecl
