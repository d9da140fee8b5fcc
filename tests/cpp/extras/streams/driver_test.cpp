// The driver of plugins' devices by its own functions, without a loader or a daemon: order, events, lost processes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "extras/streams/driver/objects.h"

namespace remotecl::plugins {
namespace {

constexpr std::size_t kLarge = 100'000;  // integers, more than is copied

class Driver : public testing::Test {
 protected:
  Driver() {
    static const std::string settings = settings_text(
        {.plugins = {PLUGIN}, .rules = {}, .host = HOST, .call_limit = std::chrono::seconds(20), .instances_max = 64});
    ::setenv(PluginSettings::kVariable, settings.c_str(), 1);
    cl_platform_id platform = nullptr;
    EXPECT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    EXPECT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CUSTOM, 1, &device_, nullptr), CL_SUCCESS);
    cl_int error = CL_SUCCESS;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
  }
  ~Driver() override { clReleaseContext(context_); }

  cl_kernel kernel(const char* name) {
    cl_int error = CL_SUCCESS;
    const cl_program program = clCreateProgramWithBuiltInKernels(context_, 1, &device_, name, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    const cl_kernel made = clCreateKernel(program, name, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    clReleaseProgram(program);
    return made;
  }
  cl_command_queue queue(cl_command_queue_properties properties = 0) {
    cl_int error = CL_SUCCESS;
    return clCreateCommandQueue(context_, device_, properties, &error);
  }
  cl_mem buffer(std::size_t count) {
    cl_int error = CL_SUCCESS;
    return clCreateBuffer(context_, CL_MEM_READ_WRITE, count * sizeof(int), nullptr, &error);
  }
  static void set(cl_kernel kernel, cl_mem to, cl_mem from, int times) {
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof to, &to), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof from, &from), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, 2, sizeof times, &times), CL_SUCCESS);
  }

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
};

TEST_F(Driver, RunsCommandsOfManyQueuesAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const cl_kernel multiply = kernel("test.multiply");
      const cl_command_queue commands = queue();
      const cl_mem memory = buffer(kLarge);
      std::vector<int> numbers(kLarge);
      for (int round = 0; round < 10; ++round) {
        std::iota(numbers.begin(), numbers.end(), t);
        clEnqueueWriteBuffer(commands, memory, CL_FALSE, 0, kLarge * sizeof(int), numbers.data(), 0, nullptr, nullptr);
        set(multiply, memory, memory, 3);
        EXPECT_EQ(clEnqueueTask(commands, multiply, 0, nullptr, nullptr), CL_SUCCESS);
        std::vector<int> found(kLarge);
        EXPECT_EQ(
            clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, kLarge * sizeof(int), found.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
        EXPECT_EQ(found[kLarge - 1], 3 * (static_cast<int>(kLarge) - 1 + t));
      }
      clReleaseMemObject(memory);
      clReleaseCommandQueue(commands);
      clReleaseKernel(multiply);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(Driver, AFailureFailsWhatWaitsForIt) {
  const cl_kernel fail = kernel("test.fail");
  const cl_command_queue commands = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem memory = buffer(1);
  clSetKernelArg(fail, 0, sizeof memory, &memory);
  cl_event failed = nullptr, dependent = nullptr, other = nullptr;
  EXPECT_EQ(clEnqueueTask(commands, fail, 0, nullptr, &failed), CL_SUCCESS);
  const int zero = 0;
  EXPECT_EQ(clEnqueueFillBuffer(commands, memory, &zero, 4, 0, 4, 1, &failed, &dependent), CL_SUCCESS);
  EXPECT_EQ(clEnqueueFillBuffer(commands, memory, &zero, 4, 0, 4, 0, nullptr, &other), CL_SUCCESS);
  EXPECT_EQ(clFinish(commands), CL_SUCCESS);
  const auto status = [](cl_event event) {
    cl_int value = 1;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof value, &value, nullptr);
    return value;
  };
  EXPECT_EQ(status(failed), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(status(dependent), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(status(other), CL_COMPLETE);
  for (const cl_event each : {failed, dependent, other}) clReleaseEvent(each);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(commands);
  clReleaseKernel(fail);
}

TEST_F(Driver, ABarrierWaitsForWhatIsBeforeIt) {
  const cl_command_queue commands = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_mem memory = buffer(1);
  cl_int error = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(context_, &error);
  const int one = 1, two = 2;
  std::atomic<int> calls{0};
  cl_event last = nullptr;
  clEnqueueFillBuffer(commands, memory, &one, 4, 0, 4, 1, &gate, nullptr);
  clEnqueueBarrierWithWaitList(commands, 0, nullptr, nullptr);
  clEnqueueFillBuffer(commands, memory, &two, 4, 0, 4, 0, nullptr, &last);
  clSetEventCallback(
      last, CL_COMPLETE, [](cl_event, cl_int, void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  clFinish(commands);
  int found = 0;
  clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, 4, &found, 1, &last, nullptr);
  EXPECT_EQ(found, 2);
  while (calls == 0) std::this_thread::yield();
  EXPECT_EQ(calls, 1);
  clReleaseEvent(gate);
  clReleaseEvent(last);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(commands);
}

TEST_F(Driver, ALostProcessIsStartedAgain) {
  cl_int error = CL_SUCCESS;
  const cl_program program = clCreateProgramWithBuiltInKernels(context_, 1, &device_, "test.abort;test.calls", &error);
  const cl_kernel abort = clCreateKernel(program, "test.abort", &error);
  const cl_kernel calls = clCreateKernel(program, "test.calls", &error);
  const cl_command_queue commands = queue();
  const cl_mem memory = buffer(1);
  for (const cl_kernel each : {abort, calls}) clSetKernelArg(each, 0, sizeof memory, &memory);
  for (int i = 0; i < 3; ++i) {
    clEnqueueTask(commands, abort, 0, nullptr, nullptr);
    clEnqueueTask(commands, calls, 0, nullptr, nullptr);
    int found = 0;
    clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, 4, &found, 0, nullptr, nullptr);
    EXPECT_EQ(found, 1);
  }
  clReleaseMemObject(memory);
  clReleaseCommandQueue(commands);
  for (const cl_kernel each : {abort, calls}) clReleaseKernel(each);
  clReleaseProgram(program);
}

TEST_F(Driver, RefusesRangesBeyondABuffer) {
  const cl_command_queue commands = queue();
  const cl_mem memory = buffer(1);
  int number = 0;
  EXPECT_EQ(clEnqueueReadBuffer(commands, memory, CL_TRUE, 1, 4, &number, 0, nullptr, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(clEnqueueCopyBuffer(commands, memory, memory, 0, ~std::size_t{0}, 4, 0, nullptr, nullptr),
            CL_INVALID_VALUE);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(commands);
}

}  // namespace
}  // namespace remotecl::plugins
