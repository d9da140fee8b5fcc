#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/crypto/key_pin.h"
#include "runtime/handshake/joiner.h"
#include "runtime/transport/address.h"

namespace remotecl::server {

// Connects a session to servers that it is to be linked to. It gives only connections that such a server has accepted
// as parts of a link. Any thread.
class LinkDialer : public RefCounted {
 public:
  struct Wanted {
    std::vector<Address> addresses;  // of the server, to be tried in this order
    std::optional<KeyPin> pin;       // of its key, if it speaks TLS
    JoinRequest request;
  };
  struct Dialed {
    std::unique_ptr<Connection> connection;
    Acceptance taken;
    Address address;  // numeric
  };

  // Throws ConnectionError, whose text is for the session's client, or StreamGone.
  virtual Dialed dial(const Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
                      const std::stop_token& stop) = 0;
};

// Joins as LinkDialer::dial() does; the request of `wanted` is not used.
Joiner joiner(Ref<LinkDialer> dialer, LinkDialer::Wanted wanted);

// Who is to be connected.
struct LinkAsker {
  std::uint64_t session;
  std::string user;
  Address client;
};
using MakeLinkDialer = std::function<Ref<LinkDialer>(LinkAsker asker)>;

}  // namespace remotecl::server
