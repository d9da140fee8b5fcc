#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/base/bytes.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Contents that are too large for a packet of SessionChannel go through memory whose size nobody can change.

// None when the system does not give any.
Descriptor memory_with(Bytes content);
// Empty when it is something else, or larger than `size_max`. Does not block, whatever the other side has sent.
std::optional<std::vector<std::byte>> read_memory(const Descriptor& memory, std::size_t size_max);

}  // namespace remotecl::server
