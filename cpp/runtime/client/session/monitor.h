#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/handshake/server_name.h"
#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"
#include "runtime/protocol/messages/rdma_status.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// A status and the bytes that it refers to.
struct StatusReply : StatusWithRdma {
  std::vector<std::byte> payload;
  double round_trip_us = 0;  // of request and reply
};

// Queries a server without a session. One thread at a time.
class Monitor {
 public:
  // Throws ConnectionError.
  explicit Monitor(const ServerName& server);

  const Welcome& welcome() const { return welcome_; }
  // Throws ConnectionError if the server is lost or does not reply for some seconds. Then the Monitor is
  // unusable.
  StatusReply ask();
  // The result of ending a session. kick() throws like ask().
  struct Kicked {
    KickResult result;
    std::string text;
  };
  Kicked kick(std::uint64_t session);

 private:
  void receive(MutableBytes to);
  // Receives the next message, which must have this code, and returns its payload.
  std::vector<std::byte> receive_reply(std::uint16_t code);

  const Address address_;
  std::unique_ptr<Connection> connection_;
  Welcome welcome_{};
  Token last_token_ = 0;
};

}  // namespace remotecl
