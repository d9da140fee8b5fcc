#include <algorithm>

#include "icd/info.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/support/callback_thread.h"
#include "runtime/memory/residency_directory.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

// Checks the list and copies it with its terminating 0.
std::vector<cl_context_properties> checked_properties(const cl_context_properties* properties) {
  std::vector<cl_context_properties> copy;
  if (properties == nullptr) return copy;
  bool has_platform = false;
  bool has_sync = false;
  for (; *properties != 0; properties += 2) {
    // "CL_INVALID_PROPERTY if context property name in properties is not a supported property name, if the value
    // specified for a supported property name is not valid, or if the same property name is specified more than once."
    if (properties[0] == CL_CONTEXT_PLATFORM) {
      require(!std::exchange(has_platform, true), CL_INVALID_PROPERTY);
      require(from_handle<Platform>(reinterpret_cast<cl_platform_id>(properties[1])) != nullptr, CL_INVALID_PLATFORM);
    } else if (properties[0] == CL_CONTEXT_INTEROP_USER_SYNC) {
      require(!std::exchange(has_sync, true), CL_INVALID_PROPERTY);
      require(properties[1] == CL_TRUE || properties[1] == CL_FALSE, CL_INVALID_PROPERTY);
    } else {
      throw icd::ApiError{CL_INVALID_PROPERTY};
    }
    copy.insert(copy.end(), properties, properties + 2);
  }
  copy.push_back(0);
  return copy;
}

cl_context make_context(std::vector<Device*> devices, std::vector<cl_context_properties> properties,
                        Context::Notify notify, void* user_data) {
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  require(notify != nullptr || user_data == nullptr, CL_INVALID_VALUE);
  require(notify == nullptr || can_call_back(), CL_OUT_OF_RESOURCES);
  require(with_members(devices).size() <= kLocationMax, CL_OUT_OF_RESOURCES);
  for (const Device* device : devices) require(!device->lost(), CL_DEVICE_NOT_AVAILABLE);
  Platform::instance().mark_used();
  return make_ref<Context>(std::move(devices), std::move(properties), notify, user_data).detach()->handle();
}

std::vector<cl_device_id> handles(Context& context) {
  std::vector<cl_device_id> result;
  for (Device* device : context.named_devices()) result.push_back(device->handle());
  return result;
}

const icd::InfoRow<Context> kContextInfo[] = {
    {CL_CONTEXT_REFERENCE_COUNT, [](Context& c, const InfoSink& sink) { sink.value<cl_uint>(c.handle_count()); }},
    {CL_CONTEXT_NUM_DEVICES,
     [](Context& c, const InfoSink& sink) { sink.value(static_cast<cl_uint>(c.named_devices().size())); }},
    {CL_CONTEXT_DEVICES, [](Context& c, const InfoSink& sink) { sink.list(handles(c)); }},
    {CL_CONTEXT_PROPERTIES, [](Context& c, const InfoSink& sink) { sink.list(c.properties()); }},
};

}  // namespace

CL_API_ENTRY cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint num_devices,
                                                    const cl_device_id* devices, Context::Notify notify,
                                                    void* user_data, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    auto copy = checked_properties(properties);
    // "CL_INVALID_VALUE if devices is NULL; if num_devices is equal to zero."
    require(devices != nullptr && num_devices != 0, CL_INVALID_VALUE);
    std::vector<Device*> unique;
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = &object<Device>(devices[i]);
      // "Duplicate devices specified in devices are ignored."
      if (std::find(unique.begin(), unique.end(), device) == unique.end()) unique.push_back(device);
    }
    return make_context(std::move(unique), std::move(copy), notify, user_data);
  });
}

CL_API_ENTRY cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties,
                                                            cl_device_type type, Context::Notify notify,
                                                            void* user_data, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    auto copy = checked_properties(properties);
    Platform& platform = Platform::instance();
    std::vector<cl_device_id> found(platform.listed_devices().size());
    cl_uint count = 0;
    const cl_int error =
        clGetDeviceIDs(platform.handle(), type, static_cast<cl_uint>(std::max<std::size_t>(found.size(), 1)),
                       found.empty() ? nullptr : found.data(), &count);
    require(error == CL_SUCCESS, error);
    std::vector<Device*> devices;
    for (cl_uint i = 0; i < count; ++i) devices.push_back(&object<Device>(found[i]));
    return make_context(std::move(devices), std::move(copy), notify, user_data);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainContext(cl_context context) { return icd::retain<Context>(context); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseContext(cl_context context) { return icd::release<Context>(context); }

CL_API_ENTRY cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info name, size_t size, void* value,
                                                 size_t* size_ret) {
  return icd::enter(
      [&] { icd::answer(kContextInfo, object<Context>(context), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_int CL_API_CALL clSetContextDestructorCallback(cl_context context, Context::Destructor function,
                                                               void* user_data) {
  return icd::enter([&] {
    Context& of = object<Context>(context);
    require(function != nullptr, CL_INVALID_VALUE);
    of.add_destructor(function, user_data);
  });
}

cl_int remotecl_link_servers(cl_context context) {
  return icd::enter([&] { object<Context>(context).link_servers(); });
}
