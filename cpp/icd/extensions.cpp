#include "icd/extensions.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <iterator>

#include "icd/command_buffer_functions.h"
#include "remotecl/remotecl.h"

namespace remotecl::icd {
namespace {

const cl_name_version kExtensions[] = {
    {CL_MAKE_VERSION(0, 9, 1), CL_KHR_COMMAND_BUFFER_EXTENSION_NAME},
    {CL_MAKE_VERSION(1, 0, 0), "cl_pocl_content_size"},
};

struct Function {
  std::string_view name;
  void* address;
};

#define REMOTECL_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(name) }

const Function kFunctions[] = {
    {"clCreateCommandBufferKHR", reinterpret_cast<void*>(create_command_buffer)},
    {"clFinalizeCommandBufferKHR", reinterpret_cast<void*>(finalize_command_buffer)},
    {"clRetainCommandBufferKHR", reinterpret_cast<void*>(retain_command_buffer)},
    {"clReleaseCommandBufferKHR", reinterpret_cast<void*>(release_command_buffer)},
    {"clEnqueueCommandBufferKHR", reinterpret_cast<void*>(enqueue_command_buffer)},
    {"clCommandBarrierWithWaitListKHR", reinterpret_cast<void*>(command_barrier)},
    {"clCommandCopyBufferKHR", reinterpret_cast<void*>(command_copy_buffer)},
    {"clCommandCopyBufferRectKHR", reinterpret_cast<void*>(command_copy_buffer_rect)},
    {"clCommandCopyBufferToImageKHR", reinterpret_cast<void*>(command_copy_buffer_to_image)},
    {"clCommandCopyImageKHR", reinterpret_cast<void*>(command_copy_image)},
    {"clCommandCopyImageToBufferKHR", reinterpret_cast<void*>(command_copy_image_to_buffer)},
    {"clCommandFillBufferKHR", reinterpret_cast<void*>(command_fill_buffer)},
    {"clCommandFillImageKHR", reinterpret_cast<void*>(command_fill_image)},
    {"clCommandNDRangeKernelKHR", reinterpret_cast<void*>(command_nd_range_kernel)},
    {"clGetCommandBufferInfoKHR", reinterpret_cast<void*>(get_command_buffer_info)},
    REMOTECL_FUNCTION(remotecl_create_network),
    REMOTECL_FUNCTION(remotecl_stop_network),
    REMOTECL_FUNCTION(remotecl_network_groups),
    // The extension has the first spelling. Loaders that expect an ICD's suffix in capitals look for the second.
    {"clSetContentSizeBufferPoCL", reinterpret_cast<void*>(set_content_size_buffer)},
    {"clSetContentSizeBufferPOCL", reinterpret_cast<void*>(set_content_size_buffer)},
};

}  // namespace

std::span<const cl_name_version> own_extensions() { return kExtensions; }

void* extension_function(std::string_view name) {
  const auto at = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                               [name](const Function& function) { return function.name == name; });
  return at == std::end(kFunctions) ? nullptr : at->address;
}

}  // namespace remotecl::icd
