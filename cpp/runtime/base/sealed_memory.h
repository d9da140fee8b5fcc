#pragma once

#include <cstddef>

namespace remotecl {

// Anonymous memory of this user's that processes share by its descriptor, which the caller owns. Nobody can change its
// size: touching what was cut off would kill the others. -1, and errno says why, when the system does not give any.
int make_sealed_memory(const char* name, std::size_t size);

}  // namespace remotecl
