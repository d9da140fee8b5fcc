// What devices say of themselves. A custom device has no compiler, no images and no work-groups.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "extras/streams/driver/objects.h"

using namespace remotecl::plugins;

namespace {

constexpr cl_ulong kAllocationMax = cl_ulong{1} << 30;

// A quarter of the machine's memory, in which buffers lie.
cl_ulong memory_size() {
  const cl_ulong all =
      static_cast<cl_ulong>(::sysconf(_SC_PHYS_PAGES)) * static_cast<cl_ulong>(::sysconf(_SC_PAGESIZE));
  return std::max(all / 4, cl_ulong{256} << 20);
}

std::string kernel_names(cl_device_id device) {
  std::string names;
  for (const KernelDescription& kernel : device->kernels) names += (names.empty() ? "" : ";") + kernel.name;
  return names;
}

cl_int answer_texts(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_NAME:
      return answer_text(device->entry.device.name, size, value, size_ret);
    case CL_DEVICE_VENDOR:
      return answer_text("remotecl", size, value, size_ret);
    case CL_DRIVER_VERSION:
      return answer_text(REMOTECL_VERSION, size, value, size_ret);
    case CL_DEVICE_PROFILE:
      return answer_text("FULL_PROFILE", size, value, size_ret);
    case CL_DEVICE_VERSION:
      return answer_text("OpenCL 3.0 remotecl " REMOTECL_VERSION, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION:
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_IL_VERSION:
      return answer_text("", size, value, size_ret);
    case CL_DEVICE_BUILT_IN_KERNELS:
      return answer_text(kernel_names(device), size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int answer_rest(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return answer(memory_size(), size, value, size_ret);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return answer(std::min(memory_size(), kAllocationMax), size, value, size_ret);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return answer<cl_ulong>(0, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return answer<std::size_t>(1, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      const std::size_t sizes[3] = {1, 1, 1};
      return answer_bytes(sizes, sizeof sizes, size, value, size_ret);
    }
    case CL_DEVICE_MAX_PARAMETER_SIZE:
      return answer<std::size_t>(1024, size, value, size_ret);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
      return answer<std::size_t>(1, size, value, size_ret);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH:
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
      return answer<std::size_t>(0, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
    case CL_DEVICE_OPENCL_C_FEATURES:
      return answer_bytes(nullptr, 0, size, value, size_ret);
    default:
      return answer_texts(device, name, size, value, size_ret);
  }
}

}  // namespace

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  const auto flag = [=](bool is_true) { return answer<cl_bool>(is_true ? CL_TRUE : CL_FALSE, size, value, size_ret); };
  switch (name) {
    case CL_DEVICE_TYPE:
      return answer<cl_device_type>(CL_DEVICE_TYPE_CUSTOM, size, value, size_ret);
    case CL_DEVICE_PLATFORM:
      return answer(device->platform, size, value, size_ret);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
      return flag(true);
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_IMAGE_SUPPORT:
      return flag(false);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return answer<cl_uint>(1, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return answer<cl_uint>(3, size, value, size_ret);
    case CL_DEVICE_ADDRESS_BITS:
      return answer<cl_uint>(64, size, value, size_ret);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      return answer<cl_uint>(1024, size, value, size_ret);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
    case CL_DEVICE_LOCAL_MEM_TYPE:  // CL_NONE
      return answer<cl_uint>(0, size, value, size_ret);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
      return answer<cl_device_exec_capabilities>(CL_EXEC_KERNEL, size, value, size_ret);
    case CL_DEVICE_QUEUE_PROPERTIES:
      return answer<cl_command_queue_properties>(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                                 size, value, size_ret);
    case CL_DEVICE_SVM_CAPABILITIES:
      return answer<cl_device_svm_capabilities>(0, size, value, size_ret);
    default:
      return answer_rest(device, name, size, value, size_ret);
  }
}
