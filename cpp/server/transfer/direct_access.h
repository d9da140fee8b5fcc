#pragma once

#include <cstddef>

#include "server/completion/cl.h"
#include "server/execution/issuer.h"
#include "server/memory/region.h"

namespace remotecl::server {

// Where the bytes of a command are, if it may read or write them itself: the device uses memory of this process, and
// all that the command has to wait for has ended. The driver would wake a thread for what takes less time than that.
// Null when the driver has to do it. With the session's lock.
std::byte* direct_access(const Issue& issue, const Region& region);

}  // namespace remotecl::server
