// The driver as a library that OpenCL loaders find. Each call that the settings can make fail goes through a Guarded.
#include <CL/cl_icd.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "fakes/driver/objects.h"

namespace remotecl::fake {
namespace {

template <std::size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, this->text); }  // NOLINT: for template arguments
  char text[N];
};

template <class Result, class... Arguments>
Result refuse(cl_int error, Arguments... arguments) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return error;
  } else {
    const auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
    if constexpr (std::is_same_v<decltype(last), cl_int* const>) {
      if (last != nullptr) *last = error;
    }
    return nullptr;
  }
}

template <Name kName, auto kFunction>
struct Guarded;
template <Name kName, class Result, class... Arguments, Result (*kFunction)(Arguments...)>
struct Guarded<kName, kFunction> {
  static Result call(Arguments... arguments) {
    if (const auto error = fault(kName.text)) return refuse<Result>(*error, arguments...);
    return kFunction(arguments...);
  }
};

// What is not named here a daemon does not call; its entries stay null.
#define FAKE_CALL(name) table.name = name
#define FAKE_MAY_FAIL(name) table.name = Guarded<#name, &name>::call

cl_icd_dispatch make_table() {
  cl_icd_dispatch table{};
  FAKE_CALL(clGetPlatformIDs);
  FAKE_CALL(clGetPlatformInfo);
  FAKE_CALL(clGetDeviceIDs);
  FAKE_CALL(clGetDeviceInfo);
  FAKE_MAY_FAIL(clCreateContext);
  FAKE_CALL(clReleaseContext);
  FAKE_MAY_FAIL(clCreateCommandQueue);
  FAKE_CALL(clRetainCommandQueue);
  FAKE_CALL(clReleaseCommandQueue);
  FAKE_CALL(clGetCommandQueueInfo);
  FAKE_MAY_FAIL(clCreateBuffer);
  FAKE_CALL(clRetainMemObject);
  FAKE_CALL(clReleaseMemObject);
  FAKE_CALL(clGetSupportedImageFormats);
  FAKE_MAY_FAIL(clCreateSampler);
  FAKE_CALL(clReleaseSampler);
  FAKE_MAY_FAIL(clCreateProgramWithSource);
  FAKE_MAY_FAIL(clCreateProgramWithBinary);
  FAKE_CALL(clRetainProgram);
  FAKE_CALL(clReleaseProgram);
  FAKE_MAY_FAIL(clBuildProgram);
  FAKE_CALL(clGetProgramInfo);
  FAKE_CALL(clGetProgramBuildInfo);
  FAKE_MAY_FAIL(clCreateKernel);
  FAKE_MAY_FAIL(clCreateKernelsInProgram);
  FAKE_CALL(clReleaseKernel);
  FAKE_MAY_FAIL(clSetKernelArg);
  FAKE_CALL(clGetKernelInfo);
  FAKE_CALL(clGetKernelWorkGroupInfo);
  FAKE_MAY_FAIL(clWaitForEvents);
  FAKE_CALL(clGetEventInfo);
  FAKE_CALL(clRetainEvent);
  FAKE_CALL(clReleaseEvent);
  FAKE_CALL(clGetEventProfilingInfo);
  FAKE_MAY_FAIL(clFlush);
  FAKE_MAY_FAIL(clFinish);
  FAKE_MAY_FAIL(clEnqueueReadBuffer);
  FAKE_MAY_FAIL(clEnqueueWriteBuffer);
  FAKE_MAY_FAIL(clEnqueueCopyBuffer);
  FAKE_MAY_FAIL(clEnqueueReadImage);
  FAKE_MAY_FAIL(clEnqueueWriteImage);
  FAKE_MAY_FAIL(clEnqueueCopyImage);
  FAKE_MAY_FAIL(clEnqueueCopyImageToBuffer);
  FAKE_MAY_FAIL(clEnqueueCopyBufferToImage);
  FAKE_MAY_FAIL(clEnqueueMapBuffer);
  FAKE_MAY_FAIL(clEnqueueUnmapMemObject);
  FAKE_MAY_FAIL(clEnqueueNDRangeKernel);
  FAKE_MAY_FAIL(clSetEventCallback);
  FAKE_MAY_FAIL(clCreateSubBuffer);
  FAKE_MAY_FAIL(clSetMemObjectDestructorCallback);
  FAKE_MAY_FAIL(clCreateUserEvent);
  FAKE_MAY_FAIL(clSetUserEventStatus);
  FAKE_MAY_FAIL(clEnqueueReadBufferRect);
  FAKE_MAY_FAIL(clEnqueueWriteBufferRect);
  FAKE_MAY_FAIL(clEnqueueCopyBufferRect);
  FAKE_MAY_FAIL(clCreateSubDevices);
  FAKE_CALL(clRetainDevice);
  FAKE_CALL(clReleaseDevice);
  FAKE_MAY_FAIL(clCreateImage);
  FAKE_MAY_FAIL(clCreateProgramWithBuiltInKernels);
  FAKE_MAY_FAIL(clCompileProgram);
  FAKE_MAY_FAIL(clLinkProgram);
  FAKE_CALL(clGetKernelArgInfo);
  FAKE_MAY_FAIL(clEnqueueFillBuffer);
  FAKE_MAY_FAIL(clEnqueueFillImage);
  FAKE_MAY_FAIL(clEnqueueMarkerWithWaitList);
  FAKE_MAY_FAIL(clEnqueueBarrierWithWaitList);
  FAKE_CALL(clGetExtensionFunctionAddressForPlatform);
  FAKE_CALL(clSVMAlloc);
  FAKE_CALL(clSVMFree);
  FAKE_MAY_FAIL(clSetKernelArgSVMPointer);
  FAKE_MAY_FAIL(clSetKernelExecInfo);
  FAKE_MAY_FAIL(clCreateProgramWithIL);
  FAKE_CALL(clGetDeviceAndHostTimer);
  FAKE_CALL(clGetKernelSubGroupInfo);
  FAKE_CALL(clSetProgramSpecializationConstant);
  return table;
}

}  // namespace

const char* const kDefaultSettings = "gpu=1,memory-mb=1024";
const void* dispatch_table() {
  static const cl_icd_dispatch table = make_table();
  return &table;
}

}  // namespace remotecl::fake

#define FAKE_VISIBLE extern "C" __attribute__((visibility("default")))

FAKE_VISIBLE cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id* ids, cl_uint* count_ret) {
  return clGetPlatformIDs(count, ids, count_ret);
}

FAKE_VISIBLE void* clGetExtensionFunctionAddress(const char* name) {
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
  // ocl-icd asks for it before it has a handle with a dispatch table.
  if (std::strcmp(name, "clGetPlatformInfo") == 0) return reinterpret_cast<void*>(clGetPlatformInfo);
  return clGetExtensionFunctionAddressForPlatform(nullptr, name);
}
