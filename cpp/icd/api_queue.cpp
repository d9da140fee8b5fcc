#include <CL/cl_ext.h>

#include "icd/info.h"
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/objects/command_queue.h"

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

constexpr cl_command_queue_properties kKnownBits = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE |
                                                   CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

cl_command_queue make_queue(cl_context context, cl_device_id device, cl_command_queue_properties bits,
                            std::vector<cl_queue_properties> list) {
  Context& in = object<Context>(context);
  Device& on = object<Device>(device);
  // "CL_INVALID_DEVICE if device is not a valid device or is not associated with context."
  require(in.contains(on), CL_INVALID_DEVICE);
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  require((bits & ~kKnownBits) == 0, CL_INVALID_VALUE);
  require((bits & CL_QUEUE_ON_DEVICE_DEFAULT) == 0 || (bits & CL_QUEUE_ON_DEVICE) != 0, CL_INVALID_VALUE);
  // "If CL_QUEUE_ON_DEVICE is set in CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE must also be set."
  require((bits & CL_QUEUE_ON_DEVICE) == 0 || (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0, CL_INVALID_VALUE);
  // "CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported by the device."
  const auto supported = on.number<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
  require((bits & ~supported) == 0, CL_INVALID_QUEUE_PROPERTIES);
  require(!on.lost(), CL_DEVICE_NOT_AVAILABLE);
  return make_ref<CommandQueue>(in, on, bits, std::move(list)).detach()->handle();
}

const icd::InfoRow<CommandQueue> kQueueInfo[] = {
    {CL_QUEUE_CONTEXT, [](CommandQueue& q, const InfoSink& sink) { sink.value(q.context().handle()); }},
    {CL_QUEUE_DEVICE, [](CommandQueue& q, const InfoSink& sink) { sink.value(q.device().handle()); }},
    {CL_QUEUE_REFERENCE_COUNT, [](CommandQueue& q, const InfoSink& sink) { sink.value(q.handle_count()); }},
    {CL_QUEUE_PROPERTIES, [](CommandQueue& q, const InfoSink& sink) { sink.value(q.properties()); }},
    {CL_QUEUE_PROPERTIES_ARRAY, [](CommandQueue& q, const InfoSink& sink) { sink.list(q.property_list()); }},
    // "CL_INVALID_COMMAND_QUEUE if command_queue ... is not a valid command-queue for param_name": only
    // on-device queues have it.
    {CL_QUEUE_SIZE, [](CommandQueue&, const InfoSink&) { throw icd::ApiError{CL_INVALID_COMMAND_QUEUE}; }},
    {CL_QUEUE_DEVICE_DEFAULT, [](CommandQueue&, const InfoSink& sink) { sink.value<cl_command_queue>(nullptr); }},
};

}  // namespace

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                               cl_command_queue_properties properties,
                                                               cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    require((properties & (CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT)) == 0, CL_INVALID_VALUE);
    return make_queue(context, device, properties, {});
  });
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                             const cl_queue_properties* properties,
                                                                             cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    object<Context>(context);
    object<Device>(device);
    cl_command_queue_properties bits = 0;
    bool has_size = false;
    std::vector<cl_queue_properties> list;
    for (const cl_queue_properties* at = properties; at != nullptr && *at != 0; at += 2) {
      require(at[0] == CL_QUEUE_PROPERTIES || at[0] == CL_QUEUE_SIZE, CL_INVALID_VALUE);
      if (at[0] == CL_QUEUE_PROPERTIES) bits = at[1];
      has_size = has_size || at[0] == CL_QUEUE_SIZE;
      list.insert(list.end(), at, at + 2);
    }
    if (properties != nullptr) list.push_back(0);
    // "This can only be specified if CL_QUEUE_ON_DEVICE is set in CL_QUEUE_PROPERTIES."
    require(!has_size || (bits & CL_QUEUE_ON_DEVICE) != 0, CL_INVALID_VALUE);
    return make_queue(context, device, bits, std::move(list));
  });
}

// cl_khr_create_command_queue: the same for programs that use OpenCL 1.2.
CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(
    cl_context context, cl_device_id device, const cl_queue_properties_khr* properties, cl_int* errcode_ret) {
  return clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties, cl_bool,
                                                          cl_command_queue_properties*) {
  return icd::enter([&] {
    object<CommandQueue>(queue);
    // "CL_INVALID_OPERATION if no devices in the context associated with command_queue support modifying the
    // properties": drivers since OpenCL 1.1 answer this.
    throw icd::ApiError{CL_INVALID_OPERATION};
  });
}

CL_API_ENTRY cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id device,
                                                               cl_command_queue) {
  return icd::enter([&] {
    Context& in = object<Context>(context);
    require(in.contains(object<Device>(device)), CL_INVALID_DEVICE);
    // "CL_INVALID_OPERATION if device does not support a replaceable default on-device queue": no device
    // does.
    throw icd::ApiError{CL_INVALID_OPERATION};
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue queue) {
  return icd::retain<CommandQueue>(queue);
}
CL_API_ENTRY cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue) {
  return icd::release<CommandQueue>(queue);
}

CL_API_ENTRY cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name, size_t size,
                                                      void* value, size_t* size_ret) {
  return icd::enter(
      [&] { icd::answer(kQueueInfo, object<CommandQueue>(queue), name, InfoSink(size, value, size_ret)); });
}

CL_API_ENTRY cl_int CL_API_CALL clFlush(cl_command_queue queue) {
  return icd::enter([&] {
    CommandQueue& of = object<CommandQueue>(queue);
    of.flush();
    return of.device().lost() ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
  });
}

CL_API_ENTRY cl_int CL_API_CALL clFinish(cl_command_queue queue) {
  return icd::enter([&] {
    CommandQueue& of = object<CommandQueue>(queue);
    const cl_int code = of.finish();
    CoherentHostMemory::bring_back(of.context());
    return code;
  });
}
