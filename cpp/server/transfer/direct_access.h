#pragma once

#include <cstddef>

#include "server/completion/cl.h"
#include "server/execution/issuer.h"
#include "server/memory/region.h"

namespace remotecl::server {

// Returns the bytes of a command that may read or write them itself: the device uses memory of this process,
// and everything that the command has to wait for has ended. The driver would wake a thread, which takes
// longer than the copy. Returns null if the driver has to do it.
std::byte* direct_access(const Issue& issue, const Region& region) REQUIRES(session_lock);

}  // namespace remotecl::server
