#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/protocol/messages/status.h"
#include "runtime/protocol/messages/store_status.h"
#include "runtime/protocol/messages/user_status.h"

// A daemon's report about RDMA. It follows Status in the same message, so that clients that do not know it ignore
// it.
namespace remotecl {

// The traffic that network cards have moved. The bytes are part of those of bulk connections.
struct RdmaTraffic {
  std::uint64_t channels = 0;  // there now
  std::uint64_t losses = 0;    // channels that ended before their streams did
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  REMOTECL_FIELDS(channels, losses, bytes_sent, bytes_received)

  RdmaTraffic& operator+=(const RdmaTraffic& other) {
    channels += other.channels, losses += other.losses;
    bytes_sent += other.bytes_sent, bytes_received += other.bytes_received;
    return *this;
  }
};

// Of the bulk streams of a session, or of a link.
struct RdmaStatus {
  std::uint32_t state;  // 0 off, 1 unavailable, 2 connecting, 3 in use, 4 lost
  std::string_view reason, port, address, peer_address;
  RdmaTraffic traffic;
  REMOTECL_FIELDS(state, reason, port, address, peer_address, traffic)
};

struct StatusRdma {
  RdmaTraffic clients, peers;     // of all sessions, including ended ones
  Sequence<RdmaStatus> sessions;  // in the order of those of the Status
  Sequence<RdmaStatus> links;     // likewise
  REMOTECL_FIELDS(clients, peers, sessions, links)
};

// The server's cost of moving bytes by RDMA: those that a processor copied, and system calls.
struct RdmaCost {
  std::uint64_t bytes_copied = 0, system_calls = 0;
  REMOTECL_FIELDS(bytes_copied, system_calls)

  RdmaCost& operator+=(const RdmaCost& other) {
    bytes_copied += other.bytes_copied, system_calls += other.system_calls;
    return *this;
  }
};

struct StatusRdmaCosts {
  RdmaCost clients, peers;  // of all sessions, including ended ones
  REMOTECL_FIELDS(clients, peers)
};

// The whole message.
struct StatusWithRdma {
  REMOTECL_MESSAGE(Status);
  Status status{};
  StatusRdma rdma{};             // empty if the server does not know it
  StatusUsers users{};           // likewise
  StatusRdmaCosts rdma_costs{};  // likewise
  StatusSockets sockets{};       // likewise
  StatusStores stores{};         // likewise
  StatusWeights weights{};       // likewise

  template <class F>
  constexpr decltype(auto) fields(F&& f) const {
    return f(status, rdma, users, rdma_costs, sockets, stores, weights);
  }
  // Decodes.
  template <class F>
  constexpr bool fields(F&& f) {
    if (!f(status)) return false;
    if (!f(rdma)) rdma = {};
    if (!f(users)) users = {};
    if (!f(rdma_costs)) rdma_costs = {};
    if (!f(sockets)) sockets = {};
    if (!f(stores)) stores = {};
    if (!f(weights)) weights = {};
    return true;
  }
};

}  // namespace remotecl
