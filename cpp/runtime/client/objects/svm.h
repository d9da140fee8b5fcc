#pragma once

#include "runtime/client/objects/memory_object.h"

// Shared virtual memory: pages with the same address in this process and on all devices of a context that
// support it. An allocation is a buffer whose host copy lies at that address, so it is transferred as buffers
// are: coarse-grained sharing, with any driver. Any thread.
namespace remotecl {

// The capabilities of a device: CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, or 0. Finer sharing is impossible over a
// network.
cl_device_svm_capabilities svm_capabilities(const Device& device);

// clSVMAlloc after its checks. Returns null if no address suits this process and all devices, or if a server lacks
// memory. Asks the servers only for large memory, for the first of each server, and where drivers choose addresses; a
// server's lack of other memory is the error of the commands that need it.
void* allocate_svm(Context& context, cl_mem_flags flags, std::size_t size, std::size_t alignment);
// clSVMFree. Ignores pointers that allocate_svm() did not return.
void free_svm(const Context& context, void* pointer);

// Where a pointer points: an allocation, and an offset in it that is at most its size. Has no memory if it
// points elsewhere.
struct SvmAddress {
  Ref<MemoryObject> memory;
  std::uint64_t offset = 0;

  bool holds(std::uint64_t size) const { return memory && offset <= memory->size() && size <= memory->size() - offset; }
};
SvmAddress find_svm(const Context& context, const void* pointer);

}  // namespace remotecl
