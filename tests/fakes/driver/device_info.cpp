// What devices say of themselves.
#include <cstring>

#include "fakes/driver/built_in.h"
#include "fakes/driver/objects.h"

using namespace remotecl::fake;

namespace {

constexpr std::size_t kGroup = 64;
constexpr cl_uint kHandleTypes[] = {0x2060, 0x2067};

std::string name_of(cl_device_id device) {
  const char* const type = device->is_cpu()                             ? "cpu"
                           : device->is_custom()                        ? "custom"
                           : device->type == CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                                                                        : "gpu";
  return std::string("fake ") + type + " " + std::to_string(device->number);
}

cl_int answer_texts(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_NAME:
      return answer_text(name_of(device), size, value, size_ret);
    case CL_DEVICE_VENDOR:
      return answer_text("remotecl", size, value, size_ret);
    case CL_DRIVER_VERSION:
      return answer_text("1.0", size, value, size_ret);
    case CL_DEVICE_PROFILE:
      return answer_text("FULL_PROFILE", size, value, size_ret);
    case CL_DEVICE_VERSION:
      return answer_text("OpenCL 3.0 fake", size, value, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION:
      return answer_text(device->has_compiler() ? "OpenCL C 1.2 fake" : "", size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
      return answer_text("", size, value, size_ret);
    case CL_DEVICE_IL_VERSION:
      return answer_text(device->has_compiler() ? "SPIR-V_1.0" : "", size, value, size_ret);
    case CL_DEVICE_BUILT_IN_KERNELS:
      return answer_text(device->is_custom() ? built_in_names() : "", size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int answer_lists(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      // A custom device has no work-groups.
      const std::size_t most = device->is_custom() ? 0 : kGroup;
      const std::size_t sizes[3] = {most, most, most};
      return answer_bytes(sizes, sizeof sizes, size, value, size_ret);
    }
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS: {
      cl_name_version version{CL_MAKE_VERSION(1, 2, 0), "OpenCL C"};
      return answer_bytes(&version, device->has_compiler() ? sizeof version : 0, size, value, size_ret);
    }
    case 0x204F:  // CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR; a file descriptor, or also a DMA-BUF
      return answer_bytes(kHandleTypes, settings().takes_dma_bufs ? sizeof kHandleTypes : sizeof kHandleTypes[0], size,
                          value, size_ret);
    case CL_DEVICE_OPENCL_C_FEATURES:
      return answer_bytes(nullptr, 0, size, value, size_ret);
    case CL_DEVICE_PARTITION_PROPERTIES:
      return answer<cl_device_partition_property>(CL_DEVICE_PARTITION_EQUALLY, size, value, size_ret);
    default:
      return answer_texts(device, name, size, value, size_ret);
  }
}

cl_int answer_sizes(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return answer<cl_ulong>(settings().memory, size, value, size_ret);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return answer<cl_ulong>(allocation_max(), size, value, size_ret);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return answer<cl_ulong>(device->is_custom() ? 0 : 64u << 10, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return answer<std::size_t>(device->is_custom() ? 0 : kGroup, size, value, size_ret);
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
      return answer<std::size_t>(device->has_compiler() ? 4096 : 0, size, value, size_ret);
    default:
      return answer_lists(device, name, size, value, size_ret);
  }
}

}  // namespace

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  const auto flag = [=](bool is_true) { return answer<cl_bool>(is_true ? CL_TRUE : CL_FALSE, size, value, size_ret); };
  switch (name) {
    case CL_DEVICE_TYPE:
      return answer<cl_device_type>(device->type, size, value, size_ret);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      return flag(device->is_cpu());
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
      return flag(true);
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_IMAGE_SUPPORT:
      return flag(device->has_compiler());
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return answer(device->units, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return answer<cl_uint>(3, size, value, size_ret);
    case CL_DEVICE_ADDRESS_BITS:
      return answer<cl_uint>(64, size, value, size_ret);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      return answer(settings().base_alignment, size, value, size_ret);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
    case CL_DEVICE_LOCAL_MEM_TYPE:
      return answer<cl_uint>(1, size, value, size_ret);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
      return answer<cl_device_exec_capabilities>(CL_EXEC_KERNEL, size, value, size_ret);
    case CL_DEVICE_QUEUE_PROPERTIES:
      return answer<cl_command_queue_properties>(CL_QUEUE_PROFILING_ENABLE, size, value, size_ret);
    case CL_DEVICE_SVM_CAPABILITIES:
      return answer<cl_device_svm_capabilities>(device->has_compiler() ? CL_DEVICE_SVM_COARSE_GRAIN_BUFFER : 0, size,
                                                value, size_ret);
    default:
      return answer_sizes(device, name, size, value, size_ret);
  }
}
