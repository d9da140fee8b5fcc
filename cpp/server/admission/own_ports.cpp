#include "server/admission/own_ports.h"

#include <algorithm>
#include <vector>

namespace remotecl::server {

void OwnPorts::add(std::uint16_t port) {
  MutexLock lock(mutex_);
  ports_.insert(port);
}

bool OwnPorts::has(const IpNumber& address, std::uint16_t port) const {
  {
    MutexLock lock(mutex_);
    if (!ports_.contains(port)) return false;
  }
  if (is_loopback_or_unspecified(address)) return true;
  const std::vector<IpNumber> own = own_addresses();
  return std::find(own.begin(), own.end(), address) != own.end();
}

}  // namespace remotecl::server
