// What a context of unlike devices has: one daemon with a CPU and a GPU of the fake driver.
#include <csignal>

#include "icd/environment.h"
#include "icd/opencl.h"

namespace remotecl::testing {
namespace {

using Formats = std::vector<std::pair<cl_channel_order, cl_channel_type>>;

cl_device_id device_of(cl_device_type type) {
  cl_device_id device = nullptr;
  check(clGetDeviceIDs(Environment::get().remote_platform(), type, 1, &device, nullptr));
  return device;
}

Formats formats_of(const std::vector<cl_device_id>& devices) {
  const Owned<cl_context> context = make_context(devices);
  cl_image_format formats[16];
  cl_uint count = 0;
  check(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 16, formats, &count));
  Formats result;
  for (cl_uint i = 0; i < count; ++i) {
    result.emplace_back(formats[i].image_channel_order, formats[i].image_channel_data_type);
  }
  return result;
}

TEST(UnlikeDevicesTest, AContextHasTheImageFormatsOfAllDevices) {
  const cl_device_id cpu = device_of(CL_DEVICE_TYPE_CPU), gpu = device_of(CL_DEVICE_TYPE_GPU);
  Formats expected = formats_of({cpu});
  const Formats others = formats_of({gpu});
  ASSERT_NE(others.back(), expected.back());
  expected.push_back(others.back());
  EXPECT_EQ(formats_of({cpu, gpu}), expected);
}

TEST(UnlikeDevicesTest, ASubBufferBeginsAnywhereIfTheDeviceAsksForNoAlignment) {
  const cl_device_id gpu = device_of(CL_DEVICE_TYPE_GPU);
  ASSERT_EQ(value<cl_uint>(clGetDeviceInfo, gpu, CL_DEVICE_MEM_BASE_ADDR_ALIGN), 0u);
  const Owned<cl_context> context = make_context({gpu});
  const Owned<cl_command_queue> queue = make_queue(context, gpu);
  const Owned<cl_mem> buffer = make_buffer(context, std::vector<char>{1, 2, 3, 4});
  std::signal(SIGFPE, SIG_DFL);  // PoCL, which the loader has loaded, would go on after a division by zero
  const Owned<cl_mem> part = make_sub_buffer(buffer, 1, 2);
  EXPECT_EQ(read<char>(queue, part, 2), (std::vector<char>{2, 3}));
}

// This process executes the command, and its times come from the device.
TEST(UnlikeDevicesTest, TimesOfWhatTheClientDoesAreInItsClock) {
  const cl_device_id gpu = device_of(CL_DEVICE_TYPE_GPU);
  const Owned<cl_context> context = make_context({gpu});
  const Owned<cl_command_queue> queue = make_queue(context, gpu, CL_QUEUE_PROFILING_ENABLE);
  const int from = 1;
  int to = 0;
  cl_ulong before = 0, after = 0;
  check(clGetHostTimer(gpu, &before));
  Owned<cl_event> done;
  check(clEnqueueSVMMemcpy(queue, CL_FALSE, &to, &from, sizeof to, 0, nullptr, done.out()));
  check(clWaitForEvents(1, done.pointer()));
  check(clGetHostTimer(gpu, &after));
  constexpr cl_ulong kSlack_ns = 1'000'000'000;  // the two clocks are compared over the network
  for (const cl_profiling_info time :
       {CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
    const auto at = value<cl_ulong>(clGetEventProfilingInfo, done.get(), time);
    EXPECT_GE(at + kSlack_ns, before);
    EXPECT_LE(at, after + kSlack_ns);
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> driver{"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER,
                                        "REMOTECL_FAKE_DRIVER=cpu=1,gpu=1,base-alignment=0,clock-ahead-s=1000"};
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(1, driver));
  return RUN_ALL_TESTS();
}
