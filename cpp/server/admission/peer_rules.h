#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/address.h"
#include "server/admission/address_rule.h"

namespace remotecl::server {

// The addresses that a client may make this server connect to, so that it cannot reach through us what it could
// not reach itself. Configured by --peers; the default is all ports from 1024 on. Loopback and link-local
// addresses are only for clients of this machine. An immutable value.
class PeerRules {
 public:
  PeerRules() : PeerRules(std::vector<std::string>()) {}
  // Each rule is NETWORK[:PORT[-PORT]], where NETWORK is "any", an address, or an address with a prefix
  // length; or "none". Throws std::invalid_argument that quotes what is wrong.
  explicit PeerRules(const std::vector<std::string>& rules);

  // Empty, or the reason why a session of this client may not be linked to a server at that numeric address.
  std::string objection(const Address& to, const Address& client) const;
  // The rules as they were given, to pass to another process.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::vector<AddressRule> rules_;
};

}  // namespace remotecl::server
