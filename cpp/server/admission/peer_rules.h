#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/address.h"
#include "server/util/ip_number.h"

namespace remotecl::server {

// Where other servers may be: a client asks this one to connect to them, and is not to reach what it could not reach
// itself. What --peers says; without it all ports from 1024 on. On loopback and link-local addresses only for clients
// of this machine. A value that never changes.
class PeerRules {
 public:
  PeerRules() : PeerRules(std::vector<std::string>()) {}
  // NETWORK[:PORT[-PORT]], where NETWORK is any, an address, or one with the length of a prefix; or none. Throws
  // std::invalid_argument that quotes what is wrong.
  explicit PeerRules(const std::vector<std::string>& rules);

  // Empty, or why a session of this client may not be linked to a server at that address, a number.
  std::string objection(const Address& to, const Address& client) const;
  // As they were given, for another process.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  struct Rule {
    IpNumber network;
    unsigned prefix;  // bits of it that count
    std::uint16_t first_port, last_port;
  };

  static Rule parse(const std::string& text);

  std::vector<std::string> texts_;
  std::vector<Rule> rules_;
};

}  // namespace remotecl::server
