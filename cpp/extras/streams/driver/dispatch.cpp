// The table by which a loader calls this driver. What a custom device does not have is refused.
#include <CL/cl_icd.h>

#include <cstring>
#include <tuple>
#include <type_traits>

#include "extras/streams/driver/objects.h"

namespace remotecl::plugins {
namespace {

template <class Result, class... Arguments>
Result refuse(Arguments... arguments) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return CL_INVALID_OPERATION;
  } else if constexpr (!std::is_void_v<Result>) {
    if constexpr (sizeof...(Arguments) != 0) {
      const auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
      if constexpr (std::is_same_v<decltype(last), cl_int* const>) {
        if (last != nullptr) *last = CL_INVALID_OPERATION;
      }
    }
    return nullptr;
  }
}

template <class Result, class... Arguments>
void set_refusal(Result (*&entry)(Arguments...)) {
  entry = [](Arguments... arguments) -> Result { return refuse<Result>(arguments...); };
}

#define PLUGIN_CALL(name) table.name = name
#define PLUGIN_REFUSES(name) set_refusal(table.name)

void add_objects(cl_icd_dispatch& table) {
  PLUGIN_CALL(clGetPlatformIDs);
  PLUGIN_CALL(clGetPlatformInfo);
  PLUGIN_CALL(clGetDeviceIDs);
  PLUGIN_CALL(clGetDeviceInfo);
  PLUGIN_CALL(clRetainDevice);
  PLUGIN_CALL(clReleaseDevice);
  PLUGIN_CALL(clCreateContext);
  PLUGIN_CALL(clRetainContext);
  PLUGIN_CALL(clReleaseContext);
  PLUGIN_CALL(clGetContextInfo);
  PLUGIN_CALL(clCreateCommandQueue);
  PLUGIN_CALL(clCreateCommandQueueWithProperties);
  PLUGIN_CALL(clRetainCommandQueue);
  PLUGIN_CALL(clReleaseCommandQueue);
  PLUGIN_CALL(clGetCommandQueueInfo);
  PLUGIN_CALL(clCreateBuffer);
  PLUGIN_CALL(clCreateBufferWithProperties);
  PLUGIN_CALL(clCreateSubBuffer);
  PLUGIN_CALL(clRetainMemObject);
  PLUGIN_CALL(clReleaseMemObject);
  PLUGIN_CALL(clGetMemObjectInfo);
  PLUGIN_CALL(clSetMemObjectDestructorCallback);
  PLUGIN_CALL(clGetSupportedImageFormats);
  PLUGIN_CALL(clCreateProgramWithBuiltInKernels);
  PLUGIN_CALL(clRetainProgram);
  PLUGIN_CALL(clReleaseProgram);
  PLUGIN_CALL(clBuildProgram);
  PLUGIN_CALL(clGetProgramInfo);
  PLUGIN_CALL(clGetProgramBuildInfo);
  PLUGIN_CALL(clCreateKernel);
  PLUGIN_CALL(clCreateKernelsInProgram);
  PLUGIN_CALL(clRetainKernel);
  PLUGIN_CALL(clReleaseKernel);
  PLUGIN_CALL(clSetKernelArg);
  PLUGIN_CALL(clGetKernelInfo);
  PLUGIN_CALL(clGetKernelArgInfo);
  PLUGIN_CALL(clGetKernelWorkGroupInfo);
  PLUGIN_CALL(clGetExtensionFunctionAddressForPlatform);
  PLUGIN_CALL(clGetDeviceAndHostTimer);
  PLUGIN_CALL(clGetHostTimer);
}

void add_commands(cl_icd_dispatch& table) {
  PLUGIN_CALL(clWaitForEvents);
  PLUGIN_CALL(clGetEventInfo);
  PLUGIN_CALL(clRetainEvent);
  PLUGIN_CALL(clReleaseEvent);
  PLUGIN_CALL(clGetEventProfilingInfo);
  PLUGIN_CALL(clSetEventCallback);
  PLUGIN_CALL(clCreateUserEvent);
  PLUGIN_CALL(clSetUserEventStatus);
  PLUGIN_CALL(clFlush);
  PLUGIN_CALL(clFinish);
  PLUGIN_CALL(clEnqueueReadBuffer);
  PLUGIN_CALL(clEnqueueReadBufferRect);
  PLUGIN_CALL(clEnqueueWriteBuffer);
  PLUGIN_CALL(clEnqueueWriteBufferRect);
  PLUGIN_CALL(clEnqueueCopyBuffer);
  PLUGIN_CALL(clEnqueueCopyBufferRect);
  PLUGIN_CALL(clEnqueueFillBuffer);
  PLUGIN_CALL(clEnqueueMapBuffer);
  PLUGIN_CALL(clEnqueueUnmapMemObject);
  PLUGIN_CALL(clEnqueueMigrateMemObjects);
  PLUGIN_CALL(clEnqueueNDRangeKernel);
  PLUGIN_CALL(clEnqueueTask);
  PLUGIN_CALL(clEnqueueMarkerWithWaitList);
  PLUGIN_CALL(clEnqueueBarrierWithWaitList);
}

void add_refusals(cl_icd_dispatch& table) {
  PLUGIN_REFUSES(clCreateContextFromType);
  PLUGIN_REFUSES(clCreateImage);
  PLUGIN_REFUSES(clCreateImage2D);
  PLUGIN_REFUSES(clCreateImage3D);
  PLUGIN_REFUSES(clCreateImageWithProperties);
  PLUGIN_REFUSES(clGetImageInfo);
  PLUGIN_REFUSES(clCreateSampler);
  PLUGIN_REFUSES(clCreateSamplerWithProperties);
  PLUGIN_REFUSES(clRetainSampler);
  PLUGIN_REFUSES(clReleaseSampler);
  PLUGIN_REFUSES(clCreateProgramWithSource);
  PLUGIN_REFUSES(clCreateProgramWithBinary);
  PLUGIN_REFUSES(clCreateProgramWithIL);
  PLUGIN_REFUSES(clCompileProgram);
  PLUGIN_REFUSES(clLinkProgram);
  PLUGIN_REFUSES(clUnloadPlatformCompiler);
  PLUGIN_REFUSES(clSetProgramSpecializationConstant);
  PLUGIN_REFUSES(clSetProgramReleaseCallback);
  PLUGIN_REFUSES(clCreateSubDevices);
  PLUGIN_REFUSES(clSetDefaultDeviceCommandQueue);
  PLUGIN_REFUSES(clCloneKernel);
  PLUGIN_REFUSES(clGetKernelSubGroupInfo);
  PLUGIN_REFUSES(clSetKernelArgSVMPointer);
  PLUGIN_REFUSES(clSetKernelExecInfo);
  PLUGIN_REFUSES(clSVMAlloc);
  PLUGIN_REFUSES(clSVMFree);
  PLUGIN_REFUSES(clEnqueueSVMFree);
  PLUGIN_REFUSES(clEnqueueSVMMemcpy);
  PLUGIN_REFUSES(clEnqueueSVMMemFill);
  PLUGIN_REFUSES(clEnqueueSVMMap);
  PLUGIN_REFUSES(clEnqueueSVMUnmap);
  PLUGIN_REFUSES(clEnqueueSVMMigrateMem);
  PLUGIN_REFUSES(clEnqueueNativeKernel);
  PLUGIN_REFUSES(clEnqueueReadImage);
  PLUGIN_REFUSES(clEnqueueWriteImage);
  PLUGIN_REFUSES(clEnqueueCopyImage);
  PLUGIN_REFUSES(clEnqueueCopyImageToBuffer);
  PLUGIN_REFUSES(clEnqueueCopyBufferToImage);
  PLUGIN_REFUSES(clEnqueueFillImage);
  PLUGIN_REFUSES(clEnqueueMapImage);
  PLUGIN_REFUSES(clCreatePipe);
  PLUGIN_REFUSES(clGetPipeInfo);
  PLUGIN_REFUSES(clSetContextDestructorCallback);
}

}  // namespace

const void* dispatch_table() {
  static const cl_icd_dispatch table = [] {
    cl_icd_dispatch made{};
    add_objects(made);
    add_commands(made);
    add_refusals(made);
    return made;
  }();
  return &table;
}

}  // namespace remotecl::plugins

#define PLUGIN_VISIBLE extern "C" __attribute__((visibility("default")))

PLUGIN_VISIBLE cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id* ids, cl_uint* count_ret) {
  return clGetPlatformIDs(count, ids, count_ret);
}

PLUGIN_VISIBLE void* clGetExtensionFunctionAddress(const char* name) {
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
  // ocl-icd asks for it before it has a handle with a dispatch table.
  if (std::strcmp(name, "clGetPlatformInfo") == 0) return reinterpret_cast<void*>(clGetPlatformInfo);
  return clGetExtensionFunctionAddressForPlatform(nullptr, name);
}
