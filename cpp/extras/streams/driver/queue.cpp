// Queues. Commands start as soon as what they wait for has ended.
#include "extras/streams/driver/command.h"

using namespace remotecl::plugins;

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* error) {
  if (context == nullptr) return failed<_cl_command_queue>(CL_INVALID_CONTEXT, error);
  if (device != context->device) return failed<_cl_command_queue>(CL_INVALID_DEVICE, error);
  constexpr cl_command_queue_properties kKnown = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
  if ((properties & ~kKnown) != 0) return failed<_cl_command_queue>(CL_INVALID_QUEUE_PROPERTIES, error);
  return made(new _cl_command_queue(context, properties), error);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_queue_properties* properties, cl_int* error) {
  cl_command_queue_properties flags = 0;
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (properties[0] != CL_QUEUE_PROPERTIES) return failed<_cl_command_queue>(CL_INVALID_QUEUE_PROPERTIES, error);
    flags = properties[1];
  }
  return clCreateCommandQueue(context, device, flags, error);
}

cl_int clRetainCommandQueue(cl_command_queue queue) {
  retain(queue);
  return CL_SUCCESS;
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  release(queue);
  return CL_SUCCESS;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name, std::size_t size, void* value,
                             std::size_t* size_ret) {
  switch (name) {
    case CL_QUEUE_CONTEXT:
      return answer(queue->context.get(), size, value, size_ret);
    case CL_QUEUE_DEVICE:
      return answer(queue->context->device, size, value, size_ret);
    case CL_QUEUE_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(queue->references.load()), size, value, size_ret);
    case CL_QUEUE_PROPERTIES:
      return answer(queue->properties, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clFlush(cl_command_queue queue) { return queue == nullptr ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS; }

cl_int clFinish(cl_command_queue queue) {
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  wait_for_all(queue);
  return CL_SUCCESS;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
  const Request request{queue, CL_COMMAND_MARKER, count, waits, event, true};
  return enqueue(request, [] { return CL_COMPLETE; });
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
  const Request request{queue, CL_COMMAND_BARRIER, count, waits, event, true, true};
  return enqueue(request, [] { return CL_COMPLETE; });
}
