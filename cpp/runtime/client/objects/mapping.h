#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "runtime/client/support/rectangle.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {

class MemoryObject;
// Points to an object until it is destroyed, then to null.
using MemoryLink = std::shared_ptr<std::atomic<MemoryObject*>>;

// A mapped region of a buffer or image.
struct Mapping {
  ByteRange range;  // of the storage; empty where the application sees other bytes than the host's copy
  cl_map_flags flags;
  std::byte* pointer;
  Extent origin{}, region{};  // for images
  MemoryLink of = {};
};

}  // namespace remotecl
