#include "extras/kernel_sockets/space/kernel_run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "extras/kernel_sockets/space/rings.h"
#include "runtime/base/mutex.h"
#include "server/completion/patient_wait.h"
#include "server/driver/host_memory.h"

namespace remotecl::testing {
namespace {

void check(cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(error));
}

// Memory of this process where the device uses it in place, else any.
cl_mem make_memory(server::Device& device, std::size_t size, std::byte*& data) {
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  cl_mem memory = nullptr;
  if (device.memory().uses_host_memory()) {
    memory = server::HostMemory::make_buffer(context, CL_MEM_READ_WRITE, size, data, error);
    if (data != nullptr) std::memset(data, 0, size);
  } else {
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &error);
  }
  check(error, "clCreateBuffer");
  return memory;
}

}  // namespace

server::SpaceThreads threads_of_tests() {
  const char* const given = std::getenv("REMOTECL_TEST_NETWORK_THREADS");
  if (given == nullptr) return {};
  using Rule = server::SpaceThreads::Rule;
  return {static_cast<std::uint32_t>(std::atoi(given)), std::strchr(given, 'r') ? Rule::kRestless : Rule::kFixed};
}

KernelProgram::KernelProgram(server::Device& device, const std::string& source, const std::string& options)
    : device_(device) {
  const std::string text = server::KernelSocketSpace::kernel_library() + source;
  const char* begin = text.c_str();
  const std::size_t size = text.size();
  cl_int error = CL_SUCCESS;
  program_ = clCreateProgramWithSource(device.context(error), 1, &begin, &size, &error);
  check(error, "clCreateProgramWithSource");
  const cl_device_id id = device.id();
  if (clBuildProgram(program_, 1, &id, options.c_str(), nullptr, nullptr) == CL_SUCCESS) return;
  std::size_t log_size = 0;
  clGetProgramBuildInfo(program_, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &log_size);
  std::string log(log_size, '\0');
  clGetProgramBuildInfo(program_, id, CL_PROGRAM_BUILD_LOG, log_size, log.data(), nullptr);
  clReleaseProgram(program_);
  throw std::runtime_error("the program does not build: " + log);
}

KernelProgram::~KernelProgram() { clReleaseProgram(program_); }

// Shared by the run and the driver's callback.
class KernelRun::End {
 public:
  void happens() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    is_there_ = true;
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds time) EXCLUDES(mutex_) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!is_there_) {
      if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return is_there_;
    }
    return true;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_there_ GUARDED_BY(mutex_) = false;
};

KernelRun::KernelRun(KernelProgram& program, const Ref<server::KernelSocketSpace>& network, const char* name,
                     const std::vector<cl_int>& numbers, const Size& size)
    : network_(network), end_(std::make_shared<End>()), count_(numbers.size()) {
  server::Device& device = program.device();
  cl_int error = CL_SUCCESS;
  queue_ = clCreateCommandQueue(device.context(error), device.id(), 0, &error);
  check(error, "clCreateCommandQueue");
  kernel_ = clCreateKernel(program.get(), name, &error);
  check(error, "clCreateKernel");
  numbers_ = make_memory(device, std::max<std::size_t>(1, count_) * sizeof(cl_int), numbers_data_);
  scratch_ = make_memory(device, size.scratch, scratch_data_);
  check(
      clEnqueueWriteBuffer(queue_, numbers_, CL_TRUE, 0, count_ * sizeof(cl_int), numbers.data(), 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
  const std::string text = size.text + '\0';
  check(clEnqueueWriteBuffer(queue_, scratch_, CL_TRUE, 0, text.size(), text.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  const cl_mem memory = network_->memory();
  check(clSetKernelArg(kernel_, 0, sizeof memory, &memory), "clSetKernelArg");
  check(clSetKernelArg(kernel_, 1, sizeof numbers_, &numbers_), "clSetKernelArg");
  check(clSetKernelArg(kernel_, 2, sizeof scratch_, &scratch_), "clSetKernelArg");
  network_->kernel_begins();
  const std::size_t global = size.groups * size.items;
  check(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &global, &size.items, 0, nullptr, &event_),
        "clEnqueueNDRangeKernel");
  check(clFlush(queue_), "clFlush");
  // Some drivers call back late, so a thread waits.
  std::thread([end = end_, network = network_, event = event_] {
    server::wait_patiently(event);
    clReleaseEvent(event);
    network->kernel_ended();
    end->happens();
  }).detach();
}

KernelRun::~KernelRun() {
  end_->wait(std::chrono::hours(1));
  clReleaseMemObject(numbers_);
  clReleaseMemObject(scratch_);
  clReleaseKernel(kernel_);
  clReleaseCommandQueue(queue_);
}

bool KernelRun::wait(std::chrono::milliseconds time) { return end_->wait(time); }

std::vector<cl_int> KernelRun::numbers() {
  if (!wait()) throw std::runtime_error("the kernel does not end");
  std::vector<cl_int> numbers(count_);
  check(clEnqueueReadBuffer(queue_, numbers_, CL_TRUE, 0, count_ * sizeof(cl_int), numbers.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  return numbers;
}

cl_int KernelRun::number_now(std::size_t at) const {
  return static_cast<cl_int>(server::load_shared(numbers_data_ + at * sizeof(cl_int)));
}

}  // namespace remotecl::testing
