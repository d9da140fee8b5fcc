#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"
#include "runtime/protocol/messages/rdma_status.h"
#include "runtime/transport/bulk/rdma_state.h"

namespace remotecl::server {

class NativeDriver;

// The state of sessions at a moment: those of one process, or the sum of several. A value.
struct StatusReport {
  // Sums over all sessions, including ended ones; only `sessions` counts those that are there now.
  struct Totals {
    std::uint64_t sessions = 0, begun = 0, commands = 0;
    Traffic clients, peers;
    RdmaTraffic rdma_clients, rdma_peers;
    StatusRdmaCosts rdma_costs;
    SocketStatus sockets;
    REMOTECL_FIELDS(sessions, begun, commands, clients, peers, rdma_clients, rdma_peers, rdma_costs, sockets)
  };
  struct OfDevice {
    std::uint64_t memory_used = 0, queue_depth = 0;
    std::uint32_t busy_permille = 0, observed_ms = 0;
    std::uint64_t busy_us = 0;  // the total time that it was seen busy
    std::uint64_t placed = 0;   // kernels that clients' schedulers have placed there
    REMOTECL_FIELDS(memory_used, queue_depth, busy_permille, observed_ms, busy_us, placed)
  };
  struct OfSession {
    bool is_own = false;
    std::uint64_t session = 0;
    std::string address, host, program, user;
    std::uint64_t process = 0, age_ms = 0, over_ms = 0, commands = 0;
    Traffic traffic;
    std::vector<std::uint64_t> memory, placed;  // by device
    RdmaState rdma;
    std::map<std::uint32_t, SocketStatus> sockets;  // by device; not passed on between processes, unlike their sums
    double weight = 1;                              // of its user
  };
  struct OfLink {
    bool is_own = false;
    PeerId peer = 0;
    std::string address;
    bool is_connected = false;
    Traffic traffic;
    RdmaState rdma;
  };

  // A user's usage of a device, including that of ended sessions.
  struct OfUser {
    std::string user;
    std::uint32_t device = 0;
    std::uint64_t busy_us = 0, commands = 0, placed = 0;
    SocketStatus sockets;
  };

  Totals totals;
  std::vector<OfUser> users;
  std::vector<OfDevice> devices;
  std::vector<OfSession> sessions;
  std::vector<OfLink> links;
  std::vector<StoreStatus> stores;  // of programs and of uploads, in the daemon; not passed on between processes

  // Adds another process's report. How the busy times of two processes overlap is unknown, so they are
  // combined as if they were independent.
  void add(const StatusReport& other);
  // Adds to what the user has had of the device.
  void add(const OfUser& usage);
  // Leaves out users who have none of the listed sessions.
  void hide_other_users(const std::string& viewer);
  // The part that remains true after the sessions have ended.
  StatusReport past() const;
};

// The form that messages carry; refers to the argument.
std::vector<SessionStatus> views(const std::vector<StatusReport::OfSession>& sessions);
std::vector<LinkStatus> views(const std::vector<StatusReport::OfLink>& links);
std::vector<UserStatus> views(const std::vector<StatusReport::OfUser>& users);
// The sockets of each.
std::vector<SocketStatus> socket_views(const std::vector<StatusReport::OfUser>& users);
// The weight of each, in thousandths.
std::vector<std::uint64_t> weight_views(const std::vector<StatusReport::OfSession>& sessions);
// The RDMA of each.
template <class Each>
std::vector<RdmaStatus> rdma_views(const std::vector<Each>& all) {
  std::vector<RdmaStatus> views;
  views.reserve(all.size());
  for (const Each& each : all) views.push_back(status_of(each.rdma));
  return views;
}

// For sending between processes.
std::vector<std::byte> encode(const StatusReport& report);
// Returns false if the bytes are malformed or their number of devices is not `devices`.
bool decode(Bytes bytes, std::size_t devices, StatusReport& report);

}  // namespace remotecl::server
