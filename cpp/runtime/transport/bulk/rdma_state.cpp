#include "runtime/transport/bulk/rdma_state.h"

#include <algorithm>

#include "runtime/protocol/messages/rdma_status.h"

namespace remotecl {

RdmaState RdmaState::unavailable(std::string_view reason) {
  const std::size_t skipped = reason.starts_with(rdma_reason::kMissing) ? rdma_reason::kMissing.size() : 0;
  return {Kind::kUnavailable, std::string(reason.substr(skipped)), {}, {}, {}};
}

RdmaState& RdmaState::operator+=(const RdmaState& other) {
  if (other.kind > kind || (other.kind == kind && reason.empty())) {
    kind = other.kind;
    reason = other.reason;
    port = other.port;
    address = other.address;
    peer_address = other.peer_address;
  }
  channels += other.channels;
  losses += other.losses;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  bytes_copied += other.bytes_copied;
  system_calls += other.system_calls;
  return *this;
}

RdmaState RdmaState::past() const {
  RdmaState past;
  past.losses = losses;
  past.bytes_sent = bytes_sent;
  past.bytes_received = bytes_received;
  past.bytes_copied = bytes_copied;
  past.system_calls = system_calls;
  return past;
}

std::string_view name_of(RdmaState::Kind kind) {
  switch (kind) {
    case RdmaState::Kind::kUnavailable:
      return "unavailable";
    case RdmaState::Kind::kConnecting:
      return "connecting";
    case RdmaState::Kind::kInUse:
      return "in use";
    case RdmaState::Kind::kLost:
      return "lost";
    default:
      return "off";
  }
}

RdmaStatus status_of(const RdmaState& state) {
  return {static_cast<std::uint32_t>(state.kind),
          state.reason,
          state.port,
          state.address,
          state.peer_address,
          {state.channels, state.losses, state.bytes_sent, state.bytes_received}};
}

RdmaCost cost_of(const RdmaState& state) { return {state.bytes_copied, state.system_calls}; }

RdmaState state_of(const RdmaStatus& status) {
  const bool is_known = status.state <= static_cast<std::uint32_t>(RdmaState::Kind::kLost);
  return {is_known ? static_cast<RdmaState::Kind>(status.state) : RdmaState::Kind::kOff,
          std::string(status.reason),
          std::string(status.port),
          std::string(status.address),
          std::string(status.peer_address),
          status.traffic.channels,
          status.traffic.losses,
          status.traffic.bytes_sent,
          status.traffic.bytes_received};
}

}  // namespace remotecl
