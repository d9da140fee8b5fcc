#pragma once

#include <cstdint>
#include <set>

#include "runtime/base/mutex.h"
#include "server/util/ip_number.h"

namespace remotecl::server {

// The TCP ports where this daemon listens. Nothing that it does for a session connects there: the connection would be
// one of the daemon's user. Any thread.
class OwnPorts {
 public:
  void add(std::uint16_t port) EXCLUDES(mutex_);
  // Whether that is one of them, at an address of this machine.
  bool has(const IpNumber& address, std::uint16_t port) const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::set<std::uint16_t> ports_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
