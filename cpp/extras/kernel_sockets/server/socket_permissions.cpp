#include "extras/kernel_sockets/server/socket_permissions.h"

#include <algorithm>

namespace remotecl::server {
namespace {

std::vector<SocketRules> both(const std::optional<SocketRules>& one, const std::optional<SocketRules>& other) {
  std::vector<SocketRules> rules;
  if (one) rules.push_back(*one);
  if (other) rules.push_back(*other);
  return rules;
}

}  // namespace

SocketPermissions::SocketPermissions(const Limits& of_user, const Limits& of_session)
    : connect_(both(of_user.kernel_connect, of_session.kernel_connect)),
      bind_(both(of_user.kernel_bind, of_session.kernel_bind)) {}

bool SocketPermissions::allows(For use, const IpNumber& address, std::uint16_t port, std::string_view name) const {
  const Rules& all = rules(use);
  const std::vector<IpNumber> own = all.empty() ? std::vector<IpNumber>() : own_addresses();
  return !all.empty() && std::all_of(all.begin(), all.end(),
                                     [&](const SocketRules& each) { return each.allows(address, port, name, own); });
}

bool SocketPermissions::allows_path(For use, std::string_view path) const {
  const Rules& all = rules(use);
  return !all.empty() &&
         std::all_of(all.begin(), all.end(), [path](const SocketRules& each) { return each.allows_path(path); });
}

}  // namespace remotecl::server
