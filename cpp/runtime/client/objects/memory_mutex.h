#pragma once

#include "runtime/base/thread_annotations.h"

namespace remotecl {

// Stands for the memory mutex of every context (Context::memory_mutex) where clang checks what that mutex guards. Such
// a mutex has as many names as there are ways to its context; a thread holds at most one.
struct REMOTECL_TSA(capability("mutex")) MemoryMutex {
  // See Mutex::assume_held().
  void assume_held() const ASSERT_CAPABILITY(this) {}
};
inline constexpr MemoryMutex kMemoryMutex;

}  // namespace remotecl
