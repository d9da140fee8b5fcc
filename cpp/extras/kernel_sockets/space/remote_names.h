#pragma once

#include <cstdint>
#include <string>

#include "extras/kernel_sockets/space/inbox.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// Where kernels of the session listen under rcl: names on its other servers. Shared by the networks of a session; any
// thread.
class RemoteNames : public RefCounted {
 public:
  struct Order {
    std::string name;
    std::uint64_t socket = 0;
    Ref<Inbox> reply_to;  // gets a NameFound, later
  };

  // Connects a socket to the first one that has the name. Does not block.
  virtual void connect(Order order) = 0;
};

}  // namespace remotecl::server
