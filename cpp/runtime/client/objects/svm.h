#pragma once

#include "runtime/client/objects/memory_object.h"

// Shared virtual memory: pages that have one address in this process and on all devices of a context that can have it.
// Underneath it is a buffer whose host copy lies at that address, so that it moves as buffers do: coarse-grained
// sharing, whoever the server's driver is. Any thread.
namespace remotecl {

// What may be promised of a device: CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, or 0. Finer sharing ends at the network.
cl_device_svm_capabilities svm_capabilities(const Device& device);

// clSVMAlloc after its checks; blocks. Null when no address suits this process and all devices, or a server has no
// memory.
void* allocate_svm(Context& context, cl_mem_flags flags, std::size_t size, std::size_t alignment);
// clSVMFree. Does nothing for a pointer that allocate_svm() did not give.
void free_svm(const Context& context, void* pointer);

// Where a pointer points: an allocation and an offset in it, at most its size. Without memory when it points elsewhere.
struct SvmPlace {
  Ref<MemoryObject> memory;
  std::uint64_t offset = 0;

  bool holds(std::uint64_t size) const { return memory && offset <= memory->size() && size <= memory->size() - offset; }
};
SvmPlace find_svm(const Context& context, const void* pointer);

}  // namespace remotecl
