#pragma once

#include "runtime/client/objects/handle.h"

namespace remotecl {

// The images and samplers that exist. A native driver may tell nothing of a kernel's arguments; then an argument of
// eight bytes may be a number or the handle of one of these, and only the bytes themselves say which. Any thread.
class HandleRegistry {
 public:
  static void add(HandleBase* handle);
  static void remove(HandleBase* handle);
  // The handle that the eight bytes at `value` are, or null. Costs one load while there are no images and samplers.
  static HandleBase* find(const void* value);
};

}  // namespace remotecl
