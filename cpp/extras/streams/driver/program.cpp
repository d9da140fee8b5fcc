// Programs of built-in kernels. Each has an instance of its device's plugin, which its first call opens.
#include <algorithm>
#include <sstream>

#include "extras/streams/driver/objects.h"
#include "extras/streams/driver/workers.h"

using namespace remotecl::plugins;

// Closing an instance may take as long as a sink needs for its file.
_cl_program::~_cl_program() {
  if (instance != nullptr) submit_work([ending = std::move(instance)]() mutable { ending.reset(); });
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id* ids,
                                             const char* names, cl_int* error) {
  if (context == nullptr) return failed<_cl_program>(CL_INVALID_CONTEXT, error);
  if (count != 1 || ids == nullptr || ids[0] != context->device) return failed<_cl_program>(CL_INVALID_DEVICE, error);
  if (names == nullptr) return failed<_cl_program>(CL_INVALID_VALUE, error);
  auto program = std::make_unique<_cl_program>(context);
  const auto& all = context->device->kernels;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ';');) {
    const auto kernel = std::find_if(all.begin(), all.end(), [&name](const auto& each) { return each.name == name; });
    if (kernel == all.end()) return failed<_cl_program>(CL_INVALID_VALUE, error);
    program->kernels.push_back(static_cast<std::uint32_t>(kernel - all.begin()));
  }
  return made(program.release(), error);
}

cl_int clRetainProgram(cl_program program) {
  retain(program);
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program) {
  if (program == nullptr) return CL_INVALID_PROGRAM;
  release(program);
  return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id*, const char*, void(CL_CALLBACK*)(cl_program, void*),
                      void*) {
  return CL_INVALID_OPERATION;  // "if program is not created with source or binary"
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, std::size_t size, void* value,
                        std::size_t* size_ret) {
  switch (name) {
    case CL_PROGRAM_CONTEXT:
      return answer(program->context.get(), size, value, size_ret);
    case CL_PROGRAM_NUM_DEVICES:
      return answer<cl_uint>(1, size, value, size_ret);
    case CL_PROGRAM_DEVICES:
      return answer(program->context->device, size, value, size_ret);
    case CL_PROGRAM_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(program->references.load()), size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
      return answer(program->kernels.size(), size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
      return answer<std::size_t>(0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info name, std::size_t size, void* value,
                             std::size_t* size_ret) {
  switch (name) {
    case CL_PROGRAM_BUILD_STATUS:
      return answer<cl_build_status>(CL_BUILD_SUCCESS, size, value, size_ret);
    case CL_PROGRAM_BUILD_LOG:
    case CL_PROGRAM_BUILD_OPTIONS:
      return answer_text("", size, value, size_ret);
    case CL_PROGRAM_BINARY_TYPE:
      return answer<cl_program_binary_type>(CL_PROGRAM_BINARY_TYPE_EXECUTABLE, size, value, size_ret);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE:
      return answer<std::size_t>(0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}
