// Buffers. Large ones are blocks, which a plugin's process can share; small ones lie in this process's own memory and
// are copied for a call.
#include <cstdlib>
#include <cstring>
#include <new>

#include "extras/streams/boundary/call.h"
#include "extras/streams/driver/objects.h"

using namespace remotecl::plugins;

namespace {

constexpr std::size_t kAlignment = 128;  // bytes, as CL_DEVICE_MEM_BASE_ADDR_ALIGN says

bool allocate(_cl_mem& memory) {
  if (memory.size > kCopiedMax) {
    memory.block = SharedBlock::make(memory.size);
    memory.data = memory.block == nullptr ? nullptr : memory.block->data();
  } else {
    memory.own.reset(new (std::nothrow) std::byte[memory.size]{});
    memory.data = memory.own.get();
  }
  return memory.data != nullptr;
}

}  // namespace

_cl_mem::~_cl_mem() {
  for (auto at = destructors.rbegin(); at != destructors.rend(); ++at) (*at)();
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, std::size_t size, void* host, cl_int* error) {
  if (context == nullptr) return failed<_cl_mem>(CL_INVALID_CONTEXT, error);
  if (size == 0) return failed<_cl_mem>(CL_INVALID_BUFFER_SIZE, error);
  auto memory = std::make_unique<_cl_mem>(context, flags, size);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    memory->data = static_cast<std::byte*>(host);
  } else if (!allocate(*memory)) {
    return failed<_cl_mem>(CL_MEM_OBJECT_ALLOCATION_FAILURE, error);
  }
  if ((flags & CL_MEM_COPY_HOST_PTR) != 0) std::memcpy(memory->data, host, size);
  return made(memory.release(), error);
}

cl_mem clCreateBufferWithProperties(cl_context context, const cl_mem_properties*, cl_mem_flags flags, std::size_t size,
                                    void* host, cl_int* error) {
  return clCreateBuffer(context, flags, size, host, error);
}

cl_mem clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type, const void* info, cl_int* error) {
  if (parent == nullptr || info == nullptr) return failed<_cl_mem>(CL_INVALID_MEM_OBJECT, error);
  const auto& region = *static_cast<const cl_buffer_region*>(info);
  if (region.size == 0) return failed<_cl_mem>(CL_INVALID_BUFFER_SIZE, error);
  if (region.origin > parent->size || region.size > parent->size - region.origin) {
    return failed<_cl_mem>(CL_INVALID_VALUE, error);
  }
  if (region.origin % kAlignment != 0) return failed<_cl_mem>(CL_MISALIGNED_SUB_BUFFER_OFFSET, error);
  auto* memory = new _cl_mem(parent->context.get(), flags, region.size);
  memory->parent = Held<_cl_mem>(parent);
  memory->offset = region.origin;
  memory->block = parent->block;
  memory->data = parent->data + region.origin;
  return made(memory, error);
}

cl_int clRetainMemObject(cl_mem memory) {
  retain(memory);
  return CL_SUCCESS;
}

cl_int clReleaseMemObject(cl_mem memory) {
  if (memory == nullptr) return CL_INVALID_MEM_OBJECT;
  release(memory);
  return CL_SUCCESS;
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK* function)(cl_mem, void*), void* data) {
  memory->destructors.push_back([memory, function, data] { function(memory, data); });
  return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_MEM_TYPE:
      return answer<cl_mem_object_type>(CL_MEM_OBJECT_BUFFER, size, value, size_ret);
    case CL_MEM_FLAGS:
      return answer(memory->flags, size, value, size_ret);
    case CL_MEM_SIZE:
      return answer(memory->size, size, value, size_ret);
    case CL_MEM_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(memory->references.load()), size, value, size_ret);
    case CL_MEM_CONTEXT:
      return answer(memory->context.get(), size, value, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return answer(memory->parent.get(), size, value, size_ret);
    case CL_MEM_OFFSET:
      return answer(memory->offset, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetSupportedImageFormats(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint, cl_image_format*,
                                  cl_uint* count) {
  if (count != nullptr) *count = 0;
  return CL_SUCCESS;
}
