#pragma once

#include <cstddef>

#include "server/network/kernel_names.h"
#include "server/session/network_argument.h"
#include "server/util/object_table.h"

namespace remotecl::server {

// The networks of a session, and the names under which kernels find each other's sockets. Needs the session's lock
// unless a comment says otherwise.
struct SessionNetworks {
  const Ref<LiveNetworks> live = make_ref<LiveNetworks>();  // any thread
  const Ref<KernelNames> names = make_ref<KernelNames>();   // any thread
  ObjectTable<NetworkArgument> arguments;                   // no buffer has the same id
  std::size_t being_made = 0;                               // others, which have no memory yet
  bool has_had_some = false;
};

}  // namespace remotecl::server
