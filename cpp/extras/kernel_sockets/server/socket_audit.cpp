#include "extras/kernel_sockets/server/socket_audit.h"

#include "server/util/log.h"

namespace remotecl::server {
namespace {

std::string in_brackets(const std::string& where) { return where.empty() ? "" : " (" + where + ")"; }

}  // namespace

bool SocketAudit::may_write() {
  const auto omitted = lines_.pass();
  if (!omitted) return false;
  const LogScope scope(session_);
  if (*omitted != 0) log_warning("kernels of user {} have asked for {} more sockets before", user_, *omitted);
  return true;
}

void SocketAudit::allowed(const std::string& what, const std::string& where) {
  if (!may_write()) return;
  const LogScope scope(session_);
  log_info("a kernel of user {} may {}{}", user_, what, in_brackets(where));
}

void SocketAudit::refused(const std::string& what, const std::string& where) {
  if (!may_write()) return;
  const LogScope scope(session_);
  log_warning(
      "a kernel of user {} may not {}{}: no kernel-connect or kernel-bind of the limits allows it, or it is a port of "
      "this server",
      user_, what, in_brackets(where));
}

}  // namespace remotecl::server
