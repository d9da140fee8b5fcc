#pragma once

#include <cstddef>

#include "server/network/kernel_names.h"
#include "server/session/network_argument.h"
#include "server/util/object_table.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The networks of a session, and the names under which kernels find each other's sockets.
struct SessionNetworks {
  const Ref<LiveNetworks> live = make_ref<LiveNetworks>();
  const Ref<KernelNames> names = make_ref<KernelNames>();
  ObjectTable<NetworkArgument> arguments GUARDED_BY(session_lock);  // no buffer has the same id
  std::size_t being_made GUARDED_BY(session_lock) = 0;              // others, which have no memory yet
  bool has_had_some GUARDED_BY(session_lock) = false;
};

}  // namespace remotecl::server
