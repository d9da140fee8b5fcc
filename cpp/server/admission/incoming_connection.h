#pragma once

#include <memory>

#include "runtime/handshake/handshake.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"
#include "server/admission/pending_handshakes.h"

namespace remotecl::server {

// A connection that has sent its Hello, in this version of the protocol. Used by one thread.
struct IncomingConnection {
  std::unique_ptr<Connection> connection;
  PendingHandshakes::Slot handshake_slot;  // left when the peer has proved its identity
  Deadline deadline;                       // of the handshake
  Address from;
  Hello hello{};
};

}  // namespace remotecl::server
