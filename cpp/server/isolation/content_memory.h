#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/base/bytes.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Contents that are too large for a packet of SessionChannel go through memory whose size nobody can change.

// Returns an invalid descriptor if the system gives no memory.
Descriptor memory_with(Bytes content);
// Returns nothing for other descriptors and for more than `size_max` bytes. Never blocks, whatever the other side sent.
std::optional<std::vector<std::byte>> read_memory(const Descriptor& memory, std::size_t size_max);

}  // namespace remotecl::server
