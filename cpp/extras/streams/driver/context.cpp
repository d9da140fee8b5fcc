// Contexts, which have one device each, as the daemon makes them.
#include "extras/streams/driver/objects.h"

using namespace remotecl::plugins;

cl_context clCreateContext(const cl_context_properties*, cl_uint count, const cl_device_id* ids,
                           void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*), void*, cl_int* error) {
  if (count != 1 || ids == nullptr || ids[0] == nullptr) return failed<_cl_context>(CL_INVALID_DEVICE, error);
  return made(new _cl_context(ids[0]), error);
}

cl_int clRetainContext(cl_context context) {
  retain(context);
  return CL_SUCCESS;
}

cl_int clReleaseContext(cl_context context) {
  release(context);
  return CL_SUCCESS;
}

cl_int clGetContextInfo(cl_context context, cl_context_info name, std::size_t size, void* value,
                        std::size_t* size_ret) {
  switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(context->references.load()), size, value, size_ret);
    case CL_CONTEXT_NUM_DEVICES:
      return answer<cl_uint>(1, size, value, size_ret);
    case CL_CONTEXT_DEVICES:
      return answer(context->device, size, value, size_ret);
    case CL_CONTEXT_PROPERTIES:
      return answer_bytes(nullptr, 0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}
