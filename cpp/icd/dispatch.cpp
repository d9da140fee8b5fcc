// The table through which ICD loaders call us, and how they find the platform.
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <cstring>

#include "icd/boundary.h"
#include "icd/extensions.h"
#include "icd/unsupported.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/support/wanted_servers.h"

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
    .clSetCommandQueueProperty = clSetCommandQueueProperty,
    .clCreateBuffer = clCreateBuffer,
    .clCreateImage2D = clCreateImage2D,
    .clCreateImage3D = clCreateImage3D,
    .clRetainMemObject = clRetainMemObject,
    .clReleaseMemObject = clReleaseMemObject,
    .clGetSupportedImageFormats = clGetSupportedImageFormats,
    .clGetMemObjectInfo = clGetMemObjectInfo,
    .clGetImageInfo = clGetImageInfo,
    .clCreateSampler = clCreateSampler,
    .clRetainSampler = clRetainSampler,
    .clReleaseSampler = clReleaseSampler,
    .clGetSamplerInfo = clGetSamplerInfo,
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
    .clEnqueueReadImage = clEnqueueReadImage,
    .clEnqueueWriteImage = clEnqueueWriteImage,
    .clEnqueueCopyImage = clEnqueueCopyImage,
    .clEnqueueCopyImageToBuffer = clEnqueueCopyImageToBuffer,
    .clEnqueueCopyBufferToImage = clEnqueueCopyBufferToImage,
    .clEnqueueMapBuffer = clEnqueueMapBuffer,
    .clEnqueueMapImage = clEnqueueMapImage,
    .clEnqueueUnmapMemObject = clEnqueueUnmapMemObject,
    .clEnqueueNDRangeKernel = clEnqueueNDRangeKernel,
    .clEnqueueTask = clEnqueueTask,
    .clEnqueueNativeKernel = clEnqueueNativeKernel,
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
    // Direct3D has no prototypes outside of Windows, so these slots stay null, as the header declares them.
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
    .clCreateImage = clCreateImage,
    .clCreateProgramWithBuiltInKernels = clCreateProgramWithBuiltInKernels,
    .clCompileProgram = clCompileProgram,
    .clLinkProgram = clLinkProgram,
    .clUnloadPlatformCompiler = clUnloadPlatformCompiler,
    .clGetKernelArgInfo = clGetKernelArgInfo,
    .clEnqueueFillBuffer = clEnqueueFillBuffer,
    .clEnqueueFillImage = clEnqueueFillImage,
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
    .clCreatePipe = clCreatePipe,
    REMOTECL_ANSWERS(clGetPipeInfo, CL_INVALID_MEM_OBJECT),
    .clSVMAlloc = clSVMAlloc,
    .clSVMFree = clSVMFree,
    .clEnqueueSVMFree = clEnqueueSVMFree,
    .clEnqueueSVMMemcpy = clEnqueueSVMMemcpy,
    .clEnqueueSVMMemFill = clEnqueueSVMMemFill,
    .clEnqueueSVMMap = clEnqueueSVMMap,
    .clEnqueueSVMUnmap = clEnqueueSVMUnmap,
    .clCreateSamplerWithProperties = clCreateSamplerWithProperties,
    .clSetKernelArgSVMPointer = clSetKernelArgSVMPointer,
    .clSetKernelExecInfo = clSetKernelExecInfo,
    .clGetKernelSubGroupInfoKHR = clGetKernelSubGroupInfo,
    .clCloneKernel = clCloneKernel,
    .clCreateProgramWithIL = clCreateProgramWithIL,
    .clEnqueueSVMMigrateMem = clEnqueueSVMMigrateMem,
    .clGetDeviceAndHostTimer = clGetDeviceAndHostTimer,
    .clGetHostTimer = clGetHostTimer,
    .clGetKernelSubGroupInfo = clGetKernelSubGroupInfo,
    .clSetDefaultDeviceCommandQueue = clSetDefaultDeviceCommandQueue,
    .clSetProgramReleaseCallback = clSetProgramReleaseCallback,
    .clSetProgramSpecializationConstant = clSetProgramSpecializationConstant,
    .clCreateBufferWithProperties = clCreateBufferWithProperties,
    .clCreateImageWithProperties = clCreateImageWithProperties,
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
    if (!configured) wanted_servers::judge_unnamed();
    platform.mark_listed();
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
  // ocl-icd asks for these before it has a handle with a dispatch table.
  if (std::strcmp(name, "clGetPlatformInfo") == 0) return reinterpret_cast<void*>(clGetPlatformInfo);
  if (std::strcmp(name, "clCreateProgramWithILKHR") == 0) return reinterpret_cast<void*>(clCreateProgramWithIL);
  if (std::strcmp(name, "clGetKernelSubGroupInfoKHR") == 0) return reinterpret_cast<void*>(clGetKernelSubGroupInfo);
  if (std::strcmp(name, "clGetKernelSuggestedLocalWorkSizeKHR") == 0) {
    return reinterpret_cast<void*>(clGetKernelSuggestedLocalWorkSizeKHR);
  }
  if (std::strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0) {
    return reinterpret_cast<void*>(clCreateCommandQueueWithPropertiesKHR);
  }
  return icd::extension_function(name);
}

CL_API_ENTRY void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  if (from_handle<Platform>(platform) == nullptr || name == nullptr) return nullptr;
  return clGetExtensionFunctionAddress(name);
}
