#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/admission/users.h"

namespace remotecl::server {

// Where the kernels of a session may connect to and bind: what the rules of the session and of its user both allow;
// without any rules nowhere. An immutable value.
class SocketPermissions {
 public:
  explicit SocketPermissions(const Grant& grant) : SocketPermissions(grant.user().limits(), grant.of_session()) {}
  SocketPermissions(const Limits& of_user, const Limits& of_session);

  using For = SocketRules::For;
  bool allows(For use, const IpNumber& address, std::uint16_t port, std::string_view name) const;
  bool allows_path(For use, std::string_view path) const;

 private:
  using Rules = std::vector<SocketRules>;
  const Rules& rules(For use) const { return use == For::kConnect ? connect_ : bind_; }

  Rules connect_, bind_;
};

}  // namespace remotecl::server
