#pragma once

#include "icd/wait_list.h"
#include "runtime/client/objects/svm.h"

// Checks of commands whose pointers may be shared virtual memory.
namespace remotecl::icd {

// Where the "host memory" of a read or write is, if it is shared virtual memory that is not mapped. The
// devices have its bytes then, so the command is a copy there.
inline SvmAddress unmapped_svm(Context& context, const void* pointer, std::uint64_t size) {
  SvmAddress address = find_svm(context, pointer);
  if (!address.memory || !address.holds(1)) return {};
  require(address.holds(size), CL_INVALID_VALUE);
  const MutexLock lock(context.memory_mutex());
  if (address.memory->storage().is_mapped(address.memory->range(address.offset, size))) return {};
  return address;
}

}  // namespace remotecl::icd
