#pragma once

#include <cstddef>

namespace remotecl {

// Anonymous memory that processes share through its descriptor, which the caller owns. Its size is sealed, because
// shrinking it would kill the other processes when they touch the removed pages. Returns -1 with errno set if the
// system provides no such memory.
int make_sealed_memory(const char* name, std::size_t size);

}  // namespace remotecl
