#pragma once

#include "runtime/protocol/messages/message.h"

// Shared virtual memory.
namespace remotecl {

// Allocates memory that has the same address on the client and on all of `devices`. Later messages name it as
// a buffer.
struct AllocateSvm {
  REMOTECL_MESSAGE(AllocateSvm);
  ObjectId buffer;
  Token token;
  Array<std::uint32_t> devices;
  std::uint64_t flags;  // cl_mem_flags that say how kernels use it
  std::uint64_t size;
  std::uint64_t alignment;  // a power of two
  std::uint64_t address;    // where the client would like to have it
  REMOTECL_FIELDS(buffer, token, devices, flags, size, alignment, address)
};
struct SvmAllocated {
  REMOTECL_MESSAGE(SvmAllocated);
  Token token;
  std::int32_t error;
  std::uint64_t address;  // where it is, if there was no error
  REMOTECL_FIELDS(token, error, address)
};
// The shared virtual memory that the kernel's later commands may access besides their arguments.
struct SetKernelSvm {
  REMOTECL_MESSAGE(SetKernelSvm);
  ObjectId kernel;
  Array<std::uint64_t> pointers;
  REMOTECL_FIELDS(kernel, pointers)
};

}  // namespace remotecl
