#include <CL/cl_ext.h>

#include <algorithm>

#include "icd/info.h"
#include "runtime/client/objects/platform.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

const icd::InfoRow<Platform> kPlatformInfo[] = {
    {CL_PLATFORM_NAME, [](Platform&, const InfoSink& sink) { sink.text("remotecl"); }},
    {CL_PLATFORM_VENDOR, [](Platform&, const InfoSink& sink) { sink.text("remotecl"); }},
    {CL_PLATFORM_VERSION, [](Platform&, const InfoSink& sink) { sink.text("OpenCL 3.0 remotecl " REMOTECL_VERSION); }},
    {CL_PLATFORM_NUMERIC_VERSION,
     [](Platform&, const InfoSink& sink) { sink.value<cl_version>(CL_MAKE_VERSION(3, 0, 0)); }},
    {CL_PLATFORM_PROFILE, [](Platform&, const InfoSink& sink) { sink.text("FULL_PROFILE"); }},
    {CL_PLATFORM_EXTENSIONS,
     [](Platform&, const InfoSink& sink) { sink.text("cl_khr_icd cl_khr_create_command_queue"); }},
    {CL_PLATFORM_EXTENSIONS_WITH_VERSION,
     [](Platform&, const InfoSink& sink) {
       sink.list(std::vector<cl_name_version>{{CL_MAKE_VERSION(1, 0, 0), "cl_khr_icd"},
                                              {CL_MAKE_VERSION(1, 0, 0), "cl_khr_create_command_queue"}});
     }},
    {CL_PLATFORM_HOST_TIMER_RESOLUTION, [](Platform&, const InfoSink& sink) { sink.value<cl_ulong>(1); }},
    {CL_PLATFORM_ICD_SUFFIX_KHR, [](Platform&, const InfoSink& sink) { sink.text("RCL"); }},
};

// "platform ... can be NULL: the behavior is implementation-defined": it means the only one.
Platform& platform_of(cl_platform_id platform) {
  return platform == nullptr ? Platform::instance() : object<Platform>(platform);
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t size,
                                                  void* value, size_t* size_ret) {
  return icd::enter([&] { icd::answer(kPlatformInfo, platform_of(platform), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint num_entries,
                                               cl_device_id* devices, cl_uint* num_devices) {
  return icd::enter([&] {
    Platform& from = platform_of(platform);
    constexpr cl_device_type kKnown = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                      CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    // Programs that keep CL_DEVICE_TYPE_ALL in an int extend its sign, and drivers accept that.
    if (type == ~cl_device_type{0}) type = CL_DEVICE_TYPE_ALL;
    // "CL_INVALID_DEVICE_TYPE if device_type is not a valid value."
    require(type == CL_DEVICE_TYPE_ALL || ((type & ~kKnown) == 0 && type != 0), CL_INVALID_DEVICE_TYPE);
    // "CL_INVALID_VALUE if num_entries is equal to zero and devices is not NULL or if both are NULL."
    require(devices == nullptr || num_entries != 0, CL_INVALID_VALUE);
    require(devices != nullptr || num_devices != nullptr, CL_INVALID_VALUE);
    cl_uint count = 0;
    for (Device* device : from.listed_devices()) {
      const cl_device_type own = device->type();
      // A custom device cannot run OpenCL C, so it is listed only where its type is named, and never the default.
      const bool is_custom = (own & CL_DEVICE_TYPE_CUSTOM) != 0;
      const bool is_default = (type & CL_DEVICE_TYPE_DEFAULT) != 0 && count == 0 && !is_custom;
      const bool fits = type == CL_DEVICE_TYPE_ALL ? !is_custom : (own & type) != 0 || is_default;
      if (!fits) continue;
      if (devices != nullptr && count < num_entries) devices[count] = device->handle();
      ++count;
      if (type == CL_DEVICE_TYPE_DEFAULT) break;
    }
    if (num_devices != nullptr) *num_devices = count;
    require(count != 0, CL_DEVICE_NOT_FOUND);
  });
}
