#include "icd/boundary.h"
#include "icd/extensions.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/memory_object.h"

namespace remotecl::icd {

// The extension has no written specification. The checks are those of PoCL, which defines it.
cl_int CL_API_CALL set_content_size_buffer(cl_mem buffer, cl_mem content_size_buffer) {
  return enter([&] {
    MemoryObject& of = object<MemoryObject>(buffer);
    MemoryObject& size = object<MemoryObject>(content_size_buffer);
    require(of.image() == nullptr && size.image() == nullptr, CL_INVALID_MEM_OBJECT);
    require(of.network_device() == nullptr && size.network_device() == nullptr, CL_INVALID_MEM_OBJECT);
    require(&of.context() == &size.context(), CL_INVALID_CONTEXT);
    // It must hold a cl_ulong, and must not be a sub-buffer.
    require(size.size() >= sizeof(cl_ulong), CL_INVALID_BUFFER_SIZE);
    require(size.parent() == nullptr, CL_INVALID_MEM_OBJECT);
    of.set_content_size_buffer(&size);
  });
}

}  // namespace remotecl::icd

cl_int remotecl_set_content_size(cl_mem buffer, cl_mem content_size_buffer) {
  using namespace remotecl;
  return icd::enter([&] {
    MemoryObject& of = icd::object<MemoryObject>(buffer);
    icd::require(of.parent() == nullptr, CL_INVALID_MEM_OBJECT);  // counted from the beginning of the whole
    if (content_size_buffer != nullptr) return icd::set_content_size_buffer(buffer, content_size_buffer);
    of.set_content_size_buffer(nullptr);
    return CL_SUCCESS;
  });
}
