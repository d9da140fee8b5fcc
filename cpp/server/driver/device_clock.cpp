#include "server/driver/device_clock.h"

#include "server/completion/native.h"
#include "server/driver/device.h"

namespace remotecl::server {

// A command that does next to nothing, on a queue where nothing delays it.
struct DeviceClock::Probe {
  Probe(Device& device, cl_int& error) {
    const cl_context context = device.context(error);
    if (context != nullptr) queue = clCreateCommandQueue(context, device.id(), CL_QUEUE_PROFILING_ENABLE, &error);
    if (error == CL_SUCCESS) memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), nullptr, &error);
  }
  ~Probe() {
    if (memory != nullptr) clReleaseMemObject(memory);
    if (queue != nullptr) clReleaseCommandQueue(queue);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Returns the end time of the command.
  cl_int run(cl_ulong& time_ns) const {
    const cl_uint zero = 0;
    Native<cl_event> event;
    cl_int error = clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, sizeof zero, &zero, 0, nullptr, event.out());
    if (error != CL_SUCCESS) return error;
    error = clWaitForEvents(1, event.list());
    if (error == CL_SUCCESS) {
      error = clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof time_ns, &time_ns, nullptr);
    }
    return error;
  }

  cl_command_queue queue = nullptr;
  cl_mem memory = nullptr;
};

cl_int DeviceClock::read(cl_ulong& time_ns) {
  if (has_timer_) {
    cl_ulong host_ns = 0;
    return clGetDeviceAndHostTimer(device_.id(), &time_ns, &host_ns);
  }
  cl_int error = CL_SUCCESS;
  const std::shared_ptr<Probe> probe = this->probe(error);
  return probe ? probe->run(time_ns) : error;
}

std::shared_ptr<DeviceClock::Probe> DeviceClock::probe(cl_int& error) {
  {
    MutexLock lock(mutex_);
    if (probe_) return probe_;
  }
  auto made = std::make_shared<Probe>(device_, error);  // without the lock, because the driver may take long
  if (error != CL_SUCCESS) return nullptr;
  MutexLock lock(mutex_);
  if (!probe_) probe_ = made;  // else another thread was faster
  return probe_;
}

void DeviceClock::close() {
  std::shared_ptr<Probe> probe;  // destroyed without the lock
  MutexLock lock(mutex_);
  probe.swap(probe_);
}

}  // namespace remotecl::server
