#include "icd/extensions.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <iterator>

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
    REMOTECL_FUNCTION(clCreateCommandBufferKHR),
    REMOTECL_FUNCTION(clFinalizeCommandBufferKHR),
    REMOTECL_FUNCTION(clRetainCommandBufferKHR),
    REMOTECL_FUNCTION(clReleaseCommandBufferKHR),
    REMOTECL_FUNCTION(clEnqueueCommandBufferKHR),
    REMOTECL_FUNCTION(clCommandBarrierWithWaitListKHR),
    REMOTECL_FUNCTION(clCommandCopyBufferKHR),
    REMOTECL_FUNCTION(clCommandCopyBufferRectKHR),
    REMOTECL_FUNCTION(clCommandCopyBufferToImageKHR),
    REMOTECL_FUNCTION(clCommandCopyImageKHR),
    REMOTECL_FUNCTION(clCommandCopyImageToBufferKHR),
    REMOTECL_FUNCTION(clCommandFillBufferKHR),
    REMOTECL_FUNCTION(clCommandFillImageKHR),
    REMOTECL_FUNCTION(clCommandNDRangeKernelKHR),
    REMOTECL_FUNCTION(clGetCommandBufferInfoKHR),
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
