// The table through which an ICD loader calls us, and how it finds the platform.
#include <CL/cl_icd.h>

#include <cstring>

#include "icd/boundary.h"
#include "icd/extensions.h"
#include "icd/unsupported.h"
#include "runtime/client/platform.h"

namespace {

using namespace remotecl;

#define REMOTECL_UNSUPPORTED(name) .name = icd::Unsupported<decltype(cl_icd_dispatch::name)>::call
#define REMOTECL_ANSWERS(name, code) .name = icd::Unsupported<decltype(cl_icd_dispatch::name), code>::call

const cl_icd_dispatch kDispatch = {
    .clGetPlatformIDs = clGetPlatformIDs,
    .clGetPlatformInfo = clGetPlatformInfo,
    .clGetDeviceIDs = clGetDeviceIDs,
    .clGetDeviceInfo = clGetDeviceInfo,
    .clCreateContext = clCreateContext,
    .clCreateContextFromType = clCreateContextFromType,
    .clRetainContext = clRetainContext,
    .clReleaseContext = clReleaseContext,
    .clGetContextInfo = clGetContextInfo,
    .clCreateCommandQueue = clCreateCommandQueue,
    .clRetainCommandQueue = clRetainCommandQueue,
    .clReleaseCommandQueue = clReleaseCommandQueue,
    .clGetCommandQueueInfo = clGetCommandQueueInfo,
    REMOTECL_UNSUPPORTED(clSetCommandQueueProperty),
    .clCreateBuffer = clCreateBuffer,
    REMOTECL_UNSUPPORTED(clCreateImage2D),
    REMOTECL_UNSUPPORTED(clCreateImage3D),
    .clRetainMemObject = clRetainMemObject,
    .clReleaseMemObject = clReleaseMemObject,
    .clGetSupportedImageFormats = clGetSupportedImageFormats,
    .clGetMemObjectInfo = clGetMemObjectInfo,
    REMOTECL_ANSWERS(clGetImageInfo, CL_INVALID_MEM_OBJECT),
    REMOTECL_UNSUPPORTED(clCreateSampler),
    REMOTECL_ANSWERS(clRetainSampler, CL_INVALID_SAMPLER),
    REMOTECL_ANSWERS(clReleaseSampler, CL_INVALID_SAMPLER),
    REMOTECL_ANSWERS(clGetSamplerInfo, CL_INVALID_SAMPLER),
    .clCreateProgramWithSource = clCreateProgramWithSource,
    .clCreateProgramWithBinary = clCreateProgramWithBinary,
    .clRetainProgram = clRetainProgram,
    .clReleaseProgram = clReleaseProgram,
    .clBuildProgram = clBuildProgram,
    .clUnloadCompiler = clUnloadCompiler,
    .clGetProgramInfo = clGetProgramInfo,
    .clGetProgramBuildInfo = clGetProgramBuildInfo,
    .clCreateKernel = clCreateKernel,
    .clCreateKernelsInProgram = clCreateKernelsInProgram,
    .clRetainKernel = clRetainKernel,
    .clReleaseKernel = clReleaseKernel,
    .clSetKernelArg = clSetKernelArg,
    .clGetKernelInfo = clGetKernelInfo,
    .clGetKernelWorkGroupInfo = clGetKernelWorkGroupInfo,
    .clWaitForEvents = clWaitForEvents,
    .clGetEventInfo = clGetEventInfo,
    .clRetainEvent = clRetainEvent,
    .clReleaseEvent = clReleaseEvent,
    .clGetEventProfilingInfo = clGetEventProfilingInfo,
    .clFlush = clFlush,
    .clFinish = clFinish,
    .clEnqueueReadBuffer = clEnqueueReadBuffer,
    .clEnqueueWriteBuffer = clEnqueueWriteBuffer,
    .clEnqueueCopyBuffer = clEnqueueCopyBuffer,
    REMOTECL_UNSUPPORTED(clEnqueueReadImage),
    REMOTECL_UNSUPPORTED(clEnqueueWriteImage),
    REMOTECL_UNSUPPORTED(clEnqueueCopyImage),
    REMOTECL_UNSUPPORTED(clEnqueueCopyImageToBuffer),
    REMOTECL_UNSUPPORTED(clEnqueueCopyBufferToImage),
    .clEnqueueMapBuffer = clEnqueueMapBuffer,
    REMOTECL_UNSUPPORTED(clEnqueueMapImage),
    .clEnqueueUnmapMemObject = clEnqueueUnmapMemObject,
    .clEnqueueNDRangeKernel = clEnqueueNDRangeKernel,
    .clEnqueueTask = clEnqueueTask,
    REMOTECL_UNSUPPORTED(clEnqueueNativeKernel),
    .clEnqueueMarker = clEnqueueMarker,
    .clEnqueueWaitForEvents = clEnqueueWaitForEvents,
    .clEnqueueBarrier = clEnqueueBarrier,
    .clGetExtensionFunctionAddress = clGetExtensionFunctionAddress,
    REMOTECL_UNSUPPORTED(clCreateFromGLBuffer),
    REMOTECL_UNSUPPORTED(clCreateFromGLTexture2D),
    REMOTECL_UNSUPPORTED(clCreateFromGLTexture3D),
    REMOTECL_UNSUPPORTED(clCreateFromGLRenderbuffer),
    REMOTECL_UNSUPPORTED(clGetGLObjectInfo),
    REMOTECL_UNSUPPORTED(clGetGLTextureInfo),
    REMOTECL_UNSUPPORTED(clEnqueueAcquireGLObjects),
    REMOTECL_UNSUPPORTED(clEnqueueReleaseGLObjects),
    REMOTECL_UNSUPPORTED(clGetGLContextInfoKHR),
    // Direct3D has no prototypes outside Windows: these slots stay null, as the header declares them.
    .clGetDeviceIDsFromD3D10KHR = nullptr,
    .clCreateFromD3D10BufferKHR = nullptr,
    .clCreateFromD3D10Texture2DKHR = nullptr,
    .clCreateFromD3D10Texture3DKHR = nullptr,
    .clEnqueueAcquireD3D10ObjectsKHR = nullptr,
    .clEnqueueReleaseD3D10ObjectsKHR = nullptr,
    .clSetEventCallback = clSetEventCallback,
    .clCreateSubBuffer = clCreateSubBuffer,
    .clSetMemObjectDestructorCallback = clSetMemObjectDestructorCallback,
    .clCreateUserEvent = clCreateUserEvent,
    .clSetUserEventStatus = clSetUserEventStatus,
    .clEnqueueReadBufferRect = clEnqueueReadBufferRect,
    .clEnqueueWriteBufferRect = clEnqueueWriteBufferRect,
    .clEnqueueCopyBufferRect = clEnqueueCopyBufferRect,
    REMOTECL_UNSUPPORTED(clCreateSubDevicesEXT),
    .clRetainDeviceEXT = clRetainDevice,
    .clReleaseDeviceEXT = clReleaseDevice,
    REMOTECL_UNSUPPORTED(clCreateEventFromGLsyncKHR),
    .clCreateSubDevices = clCreateSubDevices,
    .clRetainDevice = clRetainDevice,
    .clReleaseDevice = clReleaseDevice,
    REMOTECL_UNSUPPORTED(clCreateImage),
    .clCreateProgramWithBuiltInKernels = clCreateProgramWithBuiltInKernels,
    .clCompileProgram = clCompileProgram,
    .clLinkProgram = clLinkProgram,
    .clUnloadPlatformCompiler = clUnloadPlatformCompiler,
    .clGetKernelArgInfo = clGetKernelArgInfo,
    .clEnqueueFillBuffer = clEnqueueFillBuffer,
    REMOTECL_UNSUPPORTED(clEnqueueFillImage),
    .clEnqueueMigrateMemObjects = clEnqueueMigrateMemObjects,
    .clEnqueueMarkerWithWaitList = clEnqueueMarkerWithWaitList,
    .clEnqueueBarrierWithWaitList = clEnqueueBarrierWithWaitList,
    .clGetExtensionFunctionAddressForPlatform = clGetExtensionFunctionAddressForPlatform,
    REMOTECL_UNSUPPORTED(clCreateFromGLTexture),
    .clGetDeviceIDsFromD3D11KHR = nullptr,
    .clCreateFromD3D11BufferKHR = nullptr,
    .clCreateFromD3D11Texture2DKHR = nullptr,
    .clCreateFromD3D11Texture3DKHR = nullptr,
    .clCreateFromDX9MediaSurfaceKHR = nullptr,
    .clEnqueueAcquireD3D11ObjectsKHR = nullptr,
    .clEnqueueReleaseD3D11ObjectsKHR = nullptr,
    .clGetDeviceIDsFromDX9MediaAdapterKHR = nullptr,
    .clEnqueueAcquireDX9MediaSurfacesKHR = nullptr,
    .clEnqueueReleaseDX9MediaSurfacesKHR = nullptr,
    REMOTECL_UNSUPPORTED(clCreateFromEGLImageKHR),
    REMOTECL_UNSUPPORTED(clEnqueueAcquireEGLObjectsKHR),
    REMOTECL_UNSUPPORTED(clEnqueueReleaseEGLObjectsKHR),
    REMOTECL_UNSUPPORTED(clCreateEventFromEGLSyncKHR),
    .clCreateCommandQueueWithProperties = clCreateCommandQueueWithProperties,
    REMOTECL_UNSUPPORTED(clCreatePipe),
    REMOTECL_ANSWERS(clGetPipeInfo, CL_INVALID_MEM_OBJECT),
    REMOTECL_UNSUPPORTED(clSVMAlloc),
    REMOTECL_UNSUPPORTED(clSVMFree),
    REMOTECL_UNSUPPORTED(clEnqueueSVMFree),
    REMOTECL_UNSUPPORTED(clEnqueueSVMMemcpy),
    REMOTECL_UNSUPPORTED(clEnqueueSVMMemFill),
    REMOTECL_UNSUPPORTED(clEnqueueSVMMap),
    REMOTECL_UNSUPPORTED(clEnqueueSVMUnmap),
    REMOTECL_UNSUPPORTED(clCreateSamplerWithProperties),
    REMOTECL_UNSUPPORTED(clSetKernelArgSVMPointer),
    REMOTECL_UNSUPPORTED(clSetKernelExecInfo),
    REMOTECL_UNSUPPORTED(clGetKernelSubGroupInfoKHR),
    .clCloneKernel = clCloneKernel,
    REMOTECL_UNSUPPORTED(clCreateProgramWithIL),
    REMOTECL_UNSUPPORTED(clEnqueueSVMMigrateMem),
    REMOTECL_UNSUPPORTED(clGetDeviceAndHostTimer),
    REMOTECL_UNSUPPORTED(clGetHostTimer),
    REMOTECL_UNSUPPORTED(clGetKernelSubGroupInfo),
    REMOTECL_UNSUPPORTED(clSetDefaultDeviceCommandQueue),
    REMOTECL_UNSUPPORTED(clSetProgramReleaseCallback),
    REMOTECL_UNSUPPORTED(clSetProgramSpecializationConstant),
    .clCreateBufferWithProperties = clCreateBufferWithProperties,
    REMOTECL_UNSUPPORTED(clCreateImageWithProperties),
    .clSetContextDestructorCallback = clSetContextDestructorCallback,
};

[[maybe_unused]] const bool kDispatchIsSet = (g_dispatch_table = &kDispatch, true);

}  // namespace

#define REMOTECL_VISIBLE __attribute__((visibility("default")))

extern "C" REMOTECL_VISIBLE cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint num_entries, cl_platform_id* platforms,
                                                                      cl_uint* num_platforms) {
  return icd::enter([&] {
    icd::require(platforms != nullptr || num_platforms != nullptr, CL_INVALID_VALUE);
    icd::require(platforms == nullptr || num_entries != 0, CL_INVALID_VALUE);
    Platform& platform = Platform::instance();
    platform.connect_configured();
    const bool configured = platform.configured();
    if (num_platforms != nullptr) *num_platforms = configured ? 1 : 0;
    icd::require(configured, CL_PLATFORM_NOT_FOUND_KHR);
    if (platforms != nullptr) *platforms = platform.handle();
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint num_entries, cl_platform_id* platforms,
                                                 cl_uint* num_platforms) {
  return clIcdGetPlatformIDsKHR(num_entries, platforms, num_platforms);
}

extern "C" REMOTECL_VISIBLE void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  if (name == nullptr) return nullptr;
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
  // Asked by ocl-icd before a handle with a dispatch table exists.
  if (std::strcmp(name, "clGetPlatformInfo") == 0) return reinterpret_cast<void*>(clGetPlatformInfo);
  return icd::extension_function(name);
}

CL_API_ENTRY void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  return from_handle<Platform>(platform) == nullptr ? nullptr : clGetExtensionFunctionAddress(name);
}
