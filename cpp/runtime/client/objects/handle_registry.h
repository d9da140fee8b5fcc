#pragma once

#include "runtime/client/objects/handle.h"

namespace remotecl {

// The existing images and samplers. If a native driver says nothing about a kernel's arguments, an argument
// of eight bytes may be a number or the handle of one of these, and only the bytes show which. Any thread.
class HandleRegistry {
 public:
  static void add(HandleBase* handle);
  static void remove(HandleBase* handle);
  // The object whose handle the eight bytes at `value` are, or null. Costs one load while there are no images
  // and samplers.
  static HandleBase* find(const void* value);
};

}  // namespace remotecl
