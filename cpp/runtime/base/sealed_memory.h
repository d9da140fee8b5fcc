#pragma once

#include <cstddef>

namespace remotecl {

// Anonymous memory that processes share through its descriptor, which the caller owns. Its size is sealed, because
// shrinking it would kill the other processes when they touch the removed pages. Returns -1 with errno set if the
// system provides no such memory.
int make_sealed_memory(const char* name, std::size_t size);

// The same, for memory that only this process writes: `mapped` becomes the only writable mapping of it, which the
// caller owns; whoever has the descriptor can read. Needs Linux 5.1.
int make_published_memory(const char* name, std::size_t size, void*& mapped);

}  // namespace remotecl
