// Features that none of our devices offers, with the errors that come before "not supported".
#include "icd/wait_list.h"
#include "runtime/client/objects/memory_object.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::object;
using icd::require;

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue command_queue,
                                                      void(CL_CALLBACK* function)(void*), void* arguments,
                                                      size_t arguments_size, cl_uint num_objects, const cl_mem* objects,
                                                      const void** locations, cl_uint count, const cl_event* list,
                                                      cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    require(function != nullptr, CL_INVALID_VALUE);
    // "CL_INVALID_VALUE if args is a NULL value and cb_args > 0, or if args is a NULL value and num_mem_objects > 0;
    // if args is not NULL and cb_args is 0."
    require((arguments == nullptr) == (arguments_size == 0), CL_INVALID_VALUE);
    require(arguments != nullptr || num_objects == 0, CL_INVALID_VALUE);
    // "CL_INVALID_VALUE if num_mem_objects > 0 and mem_list or args_mem_loc are NULL; if num_mem_objects = 0 and
    // mem_list or args_mem_loc are not NULL."
    require((objects != nullptr) == (num_objects != 0) && (locations != nullptr) == (num_objects != 0),
            CL_INVALID_VALUE);
    for (cl_uint i = 0; i < num_objects; ++i) object<MemoryObject>(objects[i]);
    // "CL_INVALID_OPERATION if the device associated with command_queue cannot execute the native kernel":
    // the device is on another machine than the function.
    throw icd::ApiError{CL_INVALID_OPERATION};
  });
}

CL_API_ENTRY cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags, cl_uint, cl_uint,
                                             const cl_pipe_properties*, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&]() -> cl_mem {
    object<Context>(context);
    // "CL_INVALID_OPERATION if no devices in context support pipes."
    throw icd::ApiError{CL_INVALID_OPERATION};
  });
}
