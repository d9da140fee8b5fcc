#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "extras/kernel_sockets/space/socket_address.h"
#include "extras/kernel_sockets/space/waking_endpoint.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// The broker's reply.
struct BrokerReply {
  enum class What : std::uint8_t { kConnect, kBind, kResolve };

  std::uint64_t socket = 0;
  What what = What::kConnect;
  SocketAddress::Kind kind = SocketAddress::Kind::kTcp;
  int error = 0;  // a positive errno
  Descriptor descriptor;
  std::uint16_t port = 0;
  SocketPeer peer;
};

// A socket waits for a connection of the listener whose handle the kernel has named.
struct ConnectionWanted {
  std::uint32_t listener = 0;
  std::uint64_t acceptor = 0;
  bool may_wait = true;
};

// A socket that has waited gets one: a descriptor, the end of a connection of two kernels, or a positive errno.
struct ConnectionGiven {
  std::uint64_t acceptor = 0;
  int error = 0;
  Descriptor descriptor{};
  std::unique_ptr<WakingEndpoint> pipe{};
};

// A socket that was to be connected to a name of another server: a positive errno, or the end of the connection.
struct NameFound {
  std::uint64_t socket = 0;
  int error = 0;
  std::unique_ptr<WakingEndpoint> pipe{};
};

// A message from another thread to the sockets of a lane. Sockets are named by the numbers of SocketTable.
struct LaneMessage {
  std::variant<BrokerReply, ConnectionWanted, ConnectionGiven, NameFound> content;
};

}  // namespace remotecl::server
