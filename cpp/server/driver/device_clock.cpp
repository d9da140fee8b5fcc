#include "server/driver/device_clock.h"

#include <utility>

#include "server/completion/native.h"
#include "server/driver/device.h"

namespace remotecl::server {

cl_int DeviceClock::read(cl_ulong& time_ns) {
  if (has_timer_) {
    cl_ulong host_ns = 0;
    return clGetDeviceAndHostTimer(device_.id(), &time_ns, &host_ns);
  }
  MutexLock lock(mutex_);
  const cl_int error = prepare();
  return error != CL_SUCCESS ? error : run(time_ns);
}

// Returns the end time of a command that does next to nothing, on a queue where nothing delays it.
cl_int DeviceClock::run(cl_ulong& time_ns) {
  const cl_uint zero = 0;
  Native<cl_event> event;
  cl_int error = clEnqueueWriteBuffer(queue_, memory_, CL_FALSE, 0, sizeof zero, &zero, 0, nullptr, event.out());
  if (error != CL_SUCCESS) return error;
  error = clWaitForEvents(1, event.list());
  if (error == CL_SUCCESS) {
    error = clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof time_ns, &time_ns, nullptr);
  }
  return error;
}

cl_int DeviceClock::prepare() {
  cl_int error = CL_SUCCESS;
  const cl_context context = device_.context(error);
  if (context == nullptr) return error;
  if (queue_ == nullptr) queue_ = clCreateCommandQueue(context, device_.id(), CL_QUEUE_PROFILING_ENABLE, &error);
  if (error == CL_SUCCESS && memory_ == nullptr) {
    memory_ = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), nullptr, &error);
  }
  return error;
}

void DeviceClock::close() {
  MutexLock lock(mutex_);
  if (memory_ != nullptr) clReleaseMemObject(std::exchange(memory_, nullptr));
  if (queue_ != nullptr) clReleaseCommandQueue(std::exchange(queue_, nullptr));
}

}  // namespace remotecl::server
