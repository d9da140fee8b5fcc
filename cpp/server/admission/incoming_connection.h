#pragma once

#include <memory>

#include "runtime/handshake/handshake.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"
#include "server/admission/pending_handshakes.h"

namespace remotecl::server {

// A connection whose first words are known, and were said in this version of the protocol. One thread.
struct IncomingConnection {
  std::unique_ptr<Connection> connection;
  PendingHandshakes::Place place;  // to be left when the other side has proved who it is
  Deadline deadline;               // for that
  Address from;
  Hello hello{};
};

}  // namespace remotecl::server
