#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Writes into the log where a session's kernels connect to and bind, and where they may not. Limits its lines per
// second, so that a kernel that asks all the time does not fill the log. Any thread.
class SocketAudit {
 public:
  SocketAudit(std::uint64_t session, std::string user) : session_(session), user_(std::move(user)) {}

  // `what`: such as "connect to tcp:db.example:11211"; `where`: the address, if it has been found out.
  void allowed(const std::string& what, const std::string& where) EXCLUDES(mutex_);
  void refused(const std::string& what, const std::string& where) EXCLUDES(mutex_);

 private:
  static constexpr unsigned kLinesMax = 50;  // in each second

  // Returns false if the request is only counted, not written.
  bool may_write() EXCLUDES(mutex_);

  const std::uint64_t session_;
  const std::string user_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point second_ GUARDED_BY(mutex_){};
  unsigned lines_ GUARDED_BY(mutex_) = 0;  // in this second
  std::uint64_t omitted_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
