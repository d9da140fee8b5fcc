// Queues, and what a device says of itself beside the native driver's answers.
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS  // clSetCommandQueueProperty
#include <CL/cl_ext.h>

#include <future>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "icd/statistics.h"
#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

cl_int queue_error(World& world, std::vector<cl_queue_properties> properties) {
  return error_of([&](cl_int* error) {
    const cl_command_queue queue =
        clCreateCommandQueueWithProperties(world.context, world.device, properties.data(), error);
    return queue;
  });
}

constexpr cl_queue_properties kOnDevice = CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

const WrongCall kWrongQueues[] = {
    {"QueueWithoutAContext", CL_INVALID_CONTEXT,
     [](World& w) {
       return error_of([&](cl_int* e) { return clCreateCommandQueueWithProperties(nullptr, w.device, nullptr, e); });
     }},
    {"QueueWithoutADevice", CL_INVALID_DEVICE,
     [](World& w) {
       return error_of([&](cl_int* e) { return clCreateCommandQueueWithProperties(w.context, nullptr, nullptr, e); });
     }},
    {"UnknownQueueProperty", CL_INVALID_VALUE,
     [](World& w) {
       return queue_error(w, {0x4711, 1, 0});
     },
     "PoCL 3.1 does not look at names"},
    {"UnknownQueueBits", CL_INVALID_VALUE,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_PROPERTIES, 1u << 20, 0});
     }},
    {"SizeOfAHostQueue", CL_INVALID_VALUE,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_SIZE, 1024, 0});
     },
     "PoCL 3.1 takes it"},
    {"DeviceQueueInOrder", CL_INVALID_VALUE,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE, 0});
     },
     "PoCL 3.1 gives CL_INVALID_QUEUE_PROPERTIES"},
    {"DefaultQueueOnNoDevice", CL_INVALID_VALUE,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE_DEFAULT, 0});
     },
     "PoCL 3.1 gives CL_INVALID_QUEUE_PROPERTIES"},
    {"DeviceQueue", CL_INVALID_QUEUE_PROPERTIES,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_PROPERTIES, kOnDevice, 0});
     },
     "PoCL 3.1 aborts"},
    {"DeviceQueueWithSize", CL_INVALID_QUEUE_PROPERTIES,
     [](World& w) {
       return queue_error(w, {CL_QUEUE_PROPERTIES, kOnDevice, CL_QUEUE_SIZE, 1024, 0});
     },
     "PoCL 3.1 aborts"},
    {"PropertyOfNoQueue", CL_INVALID_COMMAND_QUEUE,
     [](World&) { return clSetCommandQueueProperty(nullptr, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr); }},
    {"PropertyOfAMadeQueue", CL_INVALID_OPERATION,
     [](World& w) { return clSetCommandQueueProperty(w.queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr); },
     "PoCL 3.1 crashes"},
    {"DefaultDeviceQueueWithoutAContext", CL_INVALID_CONTEXT,
     [](World& w) { return clSetDefaultDeviceCommandQueue(nullptr, w.device, w.queue); }, "PoCL 3.1 looks at nothing"},
    {"DefaultDeviceQueueWithoutADevice", CL_INVALID_DEVICE,
     [](World& w) { return clSetDefaultDeviceCommandQueue(w.context, nullptr, w.queue); }, "PoCL 3.1 looks at nothing"},
    {"DefaultDeviceQueueWithoutAQueue", CL_INVALID_OPERATION,
     [](World& w) { return clSetDefaultDeviceCommandQueue(w.context, w.device, nullptr); }},
    {"DefaultDeviceQueue", CL_INVALID_OPERATION,
     [](World& w) { return clSetDefaultDeviceCommandQueue(w.context, w.device, w.queue); }},
    {"SizeOfAQueueThatIsNoDeviceQueue", CL_INVALID_COMMAND_QUEUE,
     [](World& w) {
       cl_uint size = 0;
       return clGetCommandQueueInfo(w.queue, CL_QUEUE_SIZE, sizeof size, &size, nullptr);
     }},
};

INSTANTIATE_TEST_SUITE_P(Queues, WrongCallTest, ::testing::ValuesIn(kWrongQueues), wrong_call_name);

class QueueTest : public RemoteTest {};

TEST_F(QueueTest, ExtensionMakesQueues) {
  const auto make = reinterpret_cast<clCreateCommandQueueWithPropertiesKHR_fn>(clGetExtensionFunctionAddressForPlatform(
      Environment::get().remote_platform(), "clCreateCommandQueueWithPropertiesKHR"));
  ASSERT_NE(make, nullptr);
  const std::vector<cl_queue_properties> properties{CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_int error = CL_SUCCESS;
  const Owned<cl_command_queue> queue(make(context_, device(1), properties.data(), &error));
  check(error);
  EXPECT_EQ(list<cl_queue_properties>(clGetCommandQueueInfo, queue.get(), CL_QUEUE_PROPERTIES_ARRAY), properties);
  EXPECT_EQ(value<cl_command_queue_properties>(clGetCommandQueueInfo, queue.get(), CL_QUEUE_PROPERTIES),
            cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE});
  EXPECT_EQ(value<cl_command_queue>(clGetCommandQueueInfo, queue.get(), CL_QUEUE_DEVICE_DEFAULT), nullptr);
  check(clFinish(queue));
  const auto names = text(clGetDeviceInfo, device(), CL_DEVICE_EXTENSIONS);
  EXPECT_NE(names.find("cl_khr_create_command_queue"), std::string::npos);
}

// The fake driver has no such queues; for in-order queues see ReturnedWriteTest.
TEST_F(QueueTest, ABlockingWriteOfAnOutOfOrderQueueHasEndedWhenItReturns) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_mem> slow = make_buffer(context_, numbers(1)), written = make_buffer(context_, numbers(1));
  const Owned<cl_kernel> spin = kernel("spin");
  check(set_arg(spin, 0, slow));
  check(set_arg(spin, 1, 100'000'000));
  const int seven = 7;
  for (const bool waits : {false, true}) {
    Owned<cl_event> spun;
    check(run(queue, spin, 1, {}, spun.out()));
    const cl_event* const list = waits ? spun.pointer() : nullptr;
    check(clEnqueueWriteBuffer(queue, written, CL_TRUE, 0, sizeof seven, &seven, waits, list, nullptr));
    EXPECT_EQ(read<int>(queue, written, 1).front(), seven);
    check(clFinish(queue));
  }
  EXPECT_EQ(read<int>(queue, slow, 1).front(), 200'000'000);
}

// Another thread enqueues it once the finish has been sent.
TEST_F(QueueTest, FinishWaitsForNoLaterRead) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_mem> filled = make_buffer(context_, 4096), source = make_buffer(context_, numbers(1));
  const Owned<cl_event> before = make_user_event(context_), after = make_user_event(context_);
  const int seven = 7;
  check(clEnqueueFillBuffer(queue, filled, &seven, 4, 0, 4096, 1, before.pointer(), nullptr));
  check(clFlush(queue));
  const std::uint64_t sent = statistic("messages_sent");
  std::future<cl_int> finished = std::async(std::launch::async, [&] { return clFinish(queue); });
  while (statistic("messages_sent") == sent) std::this_thread::yield();
  int read = -1;
  Owned<cl_event> done;
  check(clEnqueueReadBuffer(queue, source, CL_FALSE, 0, sizeof read, &read, 1, after.pointer(), done.out()));
  check(clSetUserEventStatus(before, CL_COMPLETE));
  EXPECT_EQ(finished.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(read, -1);
  check(clSetUserEventStatus(after, CL_COMPLETE));
  check(clWaitForEvents(1, done.pointer()));
  EXPECT_EQ(read, 0);
  EXPECT_EQ(finished.get(), CL_SUCCESS);
}

TEST_F(QueueTest, ExtensionsWithVersionsAreTheExtensions) {
  std::istringstream names(text(clGetDeviceInfo, device(), CL_DEVICE_EXTENSIONS));
  const std::set<std::string> plain{std::istream_iterator<std::string>(names), {}};
  std::set<std::string> versioned;
  for (const auto& entry : list<cl_name_version>(clGetDeviceInfo, device(), CL_DEVICE_EXTENSIONS_WITH_VERSION)) {
    versioned.insert(entry.name);
  }
  EXPECT_EQ(plain, versioned);
}

TEST_F(QueueTest, EveryQueryOfTheNativeDeviceIsAnswered) {
  const cl_device_id native = Environment::get().native_device();
  if (native == nullptr) GTEST_SKIP() << "no driver to compare with";
  for (cl_device_info name = 0x1000; name <= 0x107F; ++name) {
    std::size_t expected = 0, size = 0;
    const cl_int error = clGetDeviceInfo(native, name, 0, nullptr, &expected);
    EXPECT_EQ(clGetDeviceInfo(device(), name, 0, nullptr, &size), error) << "query " << std::hex << name;
  }
}

TEST_F(QueueTest, PlatformAnswersEveryQueryOfOpenCL3) {
  for (const cl_platform_info name :
       {CL_PLATFORM_PROFILE, CL_PLATFORM_VERSION, CL_PLATFORM_NUMERIC_VERSION, CL_PLATFORM_NAME, CL_PLATFORM_VENDOR,
        CL_PLATFORM_EXTENSIONS, CL_PLATFORM_EXTENSIONS_WITH_VERSION, CL_PLATFORM_HOST_TIMER_RESOLUTION}) {
    std::size_t size = 0;
    EXPECT_EQ(clGetPlatformInfo(Environment::get().remote_platform(), name, 0, nullptr, &size), CL_SUCCESS);
    EXPECT_GT(size, 0u);
  }
  EXPECT_GT(value<cl_ulong>(clGetPlatformInfo, Environment::get().remote_platform(), CL_PLATFORM_HOST_TIMER_RESOLUTION),
            0u);
}

}  // namespace
}  // namespace remotecl::testing
