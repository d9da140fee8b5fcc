#pragma once

#include <string>

#include "runtime/transport/address.h"

namespace remotecl::server {

// Who asks for the status. A value.
struct Viewer {
  bool is_operator = false;
  std::string user;
  Address from;

  static Viewer of_all() { return {true, {}, {}}; }
  // Whether a session of `owner`, whose client is at this address, may be shown. An address alone does not say who
  // asks: a connection from it may have been made for somebody else.
  bool sees(const std::string& owner, const Address& client) const {
    return is_operator || (owner == user && (from.is_loopback() || client.host == from.host));
  }
};

}  // namespace remotecl::server
