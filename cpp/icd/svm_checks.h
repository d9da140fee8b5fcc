#pragma once

#include "icd/wait_list.h"
#include "runtime/client/objects/svm.h"

// Checks of commands whose pointers may be shared virtual memory.
namespace remotecl::icd {

// Where the "host memory" of a read or write is, if it is shared virtual memory that is not mapped. The
// devices have its bytes then, so the command is a copy there.
inline SvmPlace unmapped_svm(Context& context, const void* pointer, std::uint64_t size) {
  SvmPlace place = find_svm(context, pointer);
  if (!place.memory || !place.holds(1)) return {};
  require(place.holds(size), CL_INVALID_VALUE);
  const MutexLock lock(context.memory_mutex());
  if (place.memory->is_mapped(place.offset, size)) return {};
  return place;
}

}  // namespace remotecl::icd
