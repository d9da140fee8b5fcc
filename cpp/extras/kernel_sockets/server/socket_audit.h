#pragma once

#include <cstdint>
#include <string>

#include "server/util/line_limit.h"

namespace remotecl::server {

// Writes into the log where a session's kernels connect to and bind, and where they may not. Limits its lines per
// second, so that a kernel that asks all the time does not fill the log. Any thread.
class SocketAudit {
 public:
  SocketAudit(std::uint64_t session, std::string user) : session_(session), user_(std::move(user)) {}

  // `what`: such as "connect to tcp:db.example:11211"; `where`: the address, if it has been found out.
  void allowed(const std::string& what, const std::string& where);
  void refused(const std::string& what, const std::string& where);

 private:
  static constexpr unsigned kLinesMax = 50;  // in each second

  // Returns false if the request is only counted, not written.
  bool may_write();

  const std::uint64_t session_;
  const std::string user_;
  LineLimit lines_{kLinesMax};
};

}  // namespace remotecl::server
