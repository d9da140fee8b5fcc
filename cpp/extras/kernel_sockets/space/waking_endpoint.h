#pragma once

#include <cstdint>

#include "extras/kernel_sockets/space/endpoint.h"
#include "extras/kernel_sockets/space/inbox.h"

namespace remotecl::server {

// An endpoint that leads to another kernel. No epoll reports on it: it notifies an inbox itself when it is ready again.
class WakingEndpoint : public Endpoint {
 public:
  // The inbox to notify from now on, and for which socket.
  virtual void attach(const Ref<Inbox>& inbox, std::uint64_t socket) = 0;
};

}  // namespace remotecl::server
