#pragma once

#include <bit>

#include "icd/boundary.h"

// The flags of buffers, images and shared virtual memory.
namespace remotecl::icd {

inline constexpr cl_mem_flags kAccessFlags = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
inline constexpr cl_mem_flags kHostAccessFlags = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
inline constexpr cl_mem_flags kHostPointerFlags = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

// "CL_INVALID_VALUE if values specified in flags are not valid", and the exclusions in the table of cl_mem_flags.
inline void require_valid(cl_mem_flags flags) {
  require((flags & ~(kAccessFlags | kHostAccessFlags | kHostPointerFlags)) == 0, CL_INVALID_VALUE);
  require(std::popcount(flags & kAccessFlags) <= 1, CL_INVALID_VALUE);
  require(std::popcount(flags & kHostAccessFlags) <= 1, CL_INVALID_VALUE);
  require((flags & CL_MEM_USE_HOST_PTR) == 0 || (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) == 0,
          CL_INVALID_VALUE);
}

}  // namespace remotecl::icd
