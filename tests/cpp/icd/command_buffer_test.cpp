// cl_khr_command_buffer: what replays do. Their life is in command_buffer_life_test.cpp, what goes wrong in
// wrong_command_buffers_test.cpp.
#include <algorithm>

#include "icd/command_buffers.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

TEST_F(CommandBufferTest, IsReportedWithItsVersionAndCapabilities) {
  const std::string extensions = text(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_EXTENSIONS});
  EXPECT_NE((" " + extensions + " ").find(" cl_khr_command_buffer "), std::string::npos) << extensions;
  bool found = false;
  for (const auto& extension :
       list<cl_name_version>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_EXTENSIONS_WITH_VERSION})) {
    if (std::string(extension.name) != "cl_khr_command_buffer") continue;
    EXPECT_EQ(extension.version, static_cast<cl_version>(CL_MAKE_VERSION(0, 9, 1)));
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(
      value<cl_bitfield>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR}),
      cl_bitfield{CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR | CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR |
                  CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR});
  EXPECT_EQ(
      value<cl_bitfield>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR}),
      0u);
}

TEST_F(CommandBufferTest, ReplaysWithTheDataOfTheMoment) {
  const Owned<cl_mem> from = make_buffer(context_, kSize), to = make_buffer(context_, kSize);
  const Owned<cl_kernel> twice = kernel("twice");
  check(set_arg(twice, 0, from));
  check(set_arg(twice, 1, to));
  Recorded commands(queue_);
  commands.kernel(twice, kCount);
  commands.finalize();
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> data = numbers(kCount, 100 * round);
    check(clEnqueueWriteBuffer(queue_, from, CL_TRUE, 0, kSize, data.data(), 0, nullptr, nullptr));
    ASSERT_EQ(commands.replay(), CL_SUCCESS);
    const auto result = read<int>(queue_, to, kCount);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(result[i], 2 * data[i]);
  }
}

TEST_F(CommandBufferTest, KeepsTheArgumentsOfTheMomentOfRecording) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  Recorded commands(queue_);
  for (int digit = 1; digit <= 1000; digit *= 10) {
    check(set_arg(add, 1, digit));
    commands.kernel(add, kCount);
  }
  check(set_arg(add, 1, 77777));
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(1111));
  check(run(queue_, add, kCount));  // the kernel itself has not lost its arguments
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(2222 + 77777));
}

TEST_F(CommandBufferTest, MixesFillsCopiesRectanglesAndKernels) {
  const Owned<cl_mem> a = make_buffer(context_, kSize), b = make_buffer(context_, kSize),
                      c = make_buffer(context_, std::vector<int>(kCount, 9));
  const Owned<cl_kernel> add = this->add(a, 5);
  Recorded commands(queue_);
  commands.fill(a, 10, kSize);
  commands.barrier();
  commands.kernel(add, kCount);
  commands.copy(a, b, kSize);
  const std::size_t origin[] = {8, 2, 0}, to[] = {0, 4, 0}, region[] = {16, 2, 1};  // rows of 32 bytes
  check(CommandBufferApi::get().copy_rect(commands, nullptr, b, c, origin, to, region, 32, 0, 32, 0, 0, nullptr,
                                          nullptr, nullptr));
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, b, kCount), all(15));
  std::vector<int> expected = all(9);
  for (const int row : {4, 5}) std::fill_n(expected.begin() + 8 * row, 4, 15);
  EXPECT_EQ(read<int>(queue_, c, kCount), expected);
}

TEST_F(CommandBufferTest, SyncPointsOrderAnOutOfOrderQueue) {
  const Owned<cl_command_queue> queue = make_out_of_order();
  const Owned<cl_mem> a = make_buffer(context_, std::vector<int>(kCount)), b = make_buffer(context_, kSize);
  const Owned<cl_kernel> slow = spin(a, 200'000), add = this->add(a, 1);
  Recorded commands(queue);
  const auto reset = commands.fill(a, 0, kSize);
  const auto spun = commands.kernel(slow, kCount, {reset});
  const auto added = commands.kernel(add, kCount, {spun});
  commands.copy(a, b, kSize, {added, reset});
  commands.finalize();
  for (int round = 0; round < 3; ++round) {
    Owned<cl_event> end;
    ASSERT_EQ(commands.replay({}, end.out()), CL_SUCCESS);
    check(clWaitForEvents(1, end.pointer()));
    ASSERT_EQ(read<int>(queue, b, kCount), all(200'001));
    check(clEnqueueFillBuffer(queue, b, &round, sizeof round, 0, kSize, 0, nullptr, nullptr));
    check(clFinish(queue));
  }
}

TEST_F(CommandBufferTest, BarriersOrderAnOutOfOrderQueue) {
  const Owned<cl_command_queue> queue = make_out_of_order();
  const Owned<cl_mem> a = make_buffer(context_, kSize), b = make_buffer(context_, kSize),
                      c = make_buffer(context_, kSize);
  const Owned<cl_kernel> slow_a = spin(a, 100'000), slow_b = spin(b, 50'000);
  Recorded commands(queue);
  commands.fill(a, 1, kSize);
  commands.fill(b, 2, kSize);
  commands.barrier();
  commands.kernel(slow_a, kCount);
  const auto spun_b = commands.kernel(slow_b, kCount);
  commands.barrier({spun_b});  // holds back what follows, but does not wait for a
  commands.copy(b, c, kSize);
  commands.barrier();
  commands.copy(a, b, kSize);
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  check(clFinish(queue));
  EXPECT_EQ(read<int>(queue, c, kCount), all(50'002));
  EXPECT_EQ(read<int>(queue, b, kCount), all(100'001));
}

TEST_F(CommandBufferTest, TheEventCoversCommandsThatNothingWaitsFor) {
  const Owned<cl_command_queue> queue = make_out_of_order();
  std::vector<Owned<cl_mem>> buffers;
  Recorded commands(queue);
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(make_buffer(context_, std::vector<int>(kCount)));
    const Owned<cl_kernel> slow = spin(buffers.back(), 50'000 * (i % 2 + 1));
    commands.kernel(slow, kCount);  // the kernel is released before the replay
  }
  commands.finalize();
  Owned<cl_event> end;
  ASSERT_EQ(commands.replay({}, end.out()), CL_SUCCESS);
  check(clWaitForEvents(1, end.pointer()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(read<int>(queue, buffers[i], kCount), all(50'000 * (i % 2 + 1)));
}

TEST_F(CommandBufferTest, WaitsForEventsAndIsWaitedFor) {
  for (const bool in_order : {true, false}) {
    const Owned<cl_command_queue> queue = in_order ? make_queue(context_, device(0)) : make_out_of_order();
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
    const Owned<cl_kernel> add = this->add(buffer, 1);
    const Owned<cl_event> gate = make_user_event(context_);
    Recorded commands(queue);
    commands.kernel(add, kCount);
    commands.finalize();
    Owned<cl_event> end;
    ASSERT_EQ(commands.replay({gate}, end.out()), CL_SUCCESS);
    EXPECT_GT(status(end), CL_COMPLETE);
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, end.get(), cl_uint{CL_EVENT_COMMAND_TYPE}),
              static_cast<cl_command_type>(CL_COMMAND_COMMAND_BUFFER_KHR));
    std::vector<int> content(kCount);
    check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, kSize, content.data(), 1, end.pointer(), nullptr));
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    check(clFinish(queue));
    EXPECT_EQ(content, all(1));
    EXPECT_EQ(status(end), CL_COMPLETE);
  }
}

TEST_F(CommandBufferTest, FailsWithWhatItWaitsFor) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  const Owned<cl_event> gate = make_user_event(context_);
  Recorded commands(queue_);
  commands.kernel(add, kCount);
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  check(clFinish(queue_));
  Owned<cl_event> end;
  ASSERT_EQ(commands.replay({gate}, end.out()), CL_SUCCESS);
  check(clSetUserEventStatus(gate, -5));
  EXPECT_EQ(clWaitForEvents(1, end.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(2));
}

TEST_F(CommandBufferTest, FindsWhatAnotherServerHasWritten) {
  const Owned<cl_mem> in = make_buffer(context_, std::vector<int>(kCount, 1)), out = make_buffer(context_, kSize);
  const Owned<cl_kernel> add = this->add(in, 10), twice = kernel("twice");
  check(set_arg(twice, 0, in));
  check(set_arg(twice, 1, out));
  Recorded commands(other_);  // on the second server
  commands.kernel(twice, kCount);
  commands.finalize();
  for (int round = 1; round <= 3; ++round) {
    Owned<cl_event> written, end;
    check(run(queue_, add, kCount, {}, written.out()));  // on the first one
    ASSERT_EQ(commands.replay({written}, end.out()), CL_SUCCESS);
    // Back on the first server, which has to learn that the replay wrote.
    const Owned<cl_kernel> next = this->add(out, 1);
    check(run(queue_, next, kCount, {end}));
    ASSERT_EQ(read<int>(queue_, out, kCount), all(2 * (1 + 10 * round) + 1));
  }
}

TEST_F(CommandBufferTest, FetchesNothingThatItOverwrites) {
  const std::size_t count = 1u << 20;
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(count, 3));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  Recorded commands(queue_);
  commands.fill(buffer, 40, count * sizeof(int));
  commands.kernel(add, count);
  commands.finalize();
  const std::uint64_t before = statistic("bytes_sent");
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, buffer, 1)[0], 41);
  EXPECT_LT(statistic("bytes_sent") - before, std::uint64_t{1} << 20);
}

TEST_F(CommandBufferTest, OneMessageForManyKernels) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  Recorded commands(queue_);
  for (int i = 0; i < 100; ++i) commands.kernel(add, kCount);
  commands.finalize();
  for (int i = 0; i < 2; ++i) {  // brings the buffer there, and lets go of what that took
    ASSERT_EQ(commands.replay(), CL_SUCCESS);
    check(clFinish(queue_));
  }
  const std::uint64_t before = statistic("messages_sent");
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  check(clFinish(queue_));
  EXPECT_EQ(statistic("messages_sent") - before, 2u) << "the replay and the finish";
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(300));
}

TEST_F(CommandBufferTest, SubBuffersAreWrittenWhereTheyLie) {
  const std::size_t half = 4096;
  const Owned<cl_mem> whole = make_buffer(context_, std::vector<int>(2 * half / sizeof(int), 1));
  const Owned<cl_mem> part = make_sub_buffer(whole, half, half);
  const Owned<cl_kernel> add = this->add(part, 5);
  Recorded commands(queue_);
  commands.kernel(add, half / sizeof(int));
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  const auto content = read<int>(queue_, whole, 2 * half / sizeof(int));
  EXPECT_EQ(content.front(), 1);
  EXPECT_EQ(content[half / sizeof(int)], 6);
  EXPECT_EQ(content.back(), 6);
}

TEST_F(CommandBufferTest, MixesImagesAndBuffers) {
  const CommandBufferApi& api = CommandBufferApi::get();
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = 4;
  const auto make_image = [&] {
    cl_int error = CL_SUCCESS;
    Owned<cl_mem> image(clCreateImage(context_, CL_MEM_READ_WRITE, &format, &description, nullptr, &error));
    check(error);
    return image;
  };
  const Owned<cl_mem> first = make_image(), second = make_image();
  const Owned<cl_mem> from = make_buffer(context_, numbers(kCount)), to = make_buffer(context_, kSize);
  const std::size_t none[] = {0, 0, 0}, all[] = {4, 4, 1}, one[] = {1, 1, 1}, right[] = {2, 0, 0}, half[] = {2, 4, 1};
  const cl_uint color[] = {7, 7, 7, 7};
  Recorded commands(queue_);
  check(api.copy_buffer_to_image(commands, nullptr, from, first, 0, none, all, 0, nullptr, nullptr, nullptr));
  check(api.fill_image(commands, nullptr, first, color, none, one, 0, nullptr, nullptr, nullptr));
  check(api.fill_image(commands, nullptr, second, color, none, all, 0, nullptr, nullptr, nullptr));
  check(api.copy_image(commands, nullptr, first, second, none, right, half, 0, nullptr, nullptr, nullptr));
  check(api.copy_image_to_buffer(commands, nullptr, second, to, none, all, 0, 0, nullptr, nullptr, nullptr));
  commands.finalize();
  for (int round = 0; round < 2; ++round) {
    const std::vector<int> data = numbers(kCount, 1000 * round);
    check(clEnqueueWriteBuffer(other_, from, CL_TRUE, 0, kSize, data.data(), 0, nullptr, nullptr));
    ASSERT_EQ(commands.replay(), CL_SUCCESS);
    std::vector<int> expected(kCount, 7);
    for (int row = 0; row < 4; ++row) {
      for (int i = 0; i < 8; ++i) expected[16 * row + 8 + i] = row == 0 && i < 4 ? 7 : data[16 * row + i];
    }
    ASSERT_EQ(read<int>(queue_, to, kCount), expected);
  }
}

TEST_F(CommandBufferTest, KernelsUseSamplersImagesAndSharedMemory) {
  const Owned<cl_program> program = build(context_, R"(
    kernel void gather(read_only image2d_t image, sampler_t sampler, global int* out, global const int* more) {
      int i = get_global_id(0);
      out[i] = read_imageui(image, sampler, (int2)(i, 0)).x + more[i];
    })");
  const Owned<cl_kernel> gather = make_kernel(program, "gather");
  std::vector<cl_uint> pixels(4 * 8);
  for (cl_uint i = 0; i < 8; ++i) pixels[4 * i] = 10 * i;
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 8;
  description.image_height = 1;
  const Owned<cl_mem> out = make_buffer(context_, 32);
  auto* more = static_cast<int*>(clSVMAlloc(context_, CL_MEM_READ_WRITE, 32, 0));
  if (more == nullptr) GTEST_SKIP() << "the device has no shared virtual memory";
  check(clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_WRITE, more, 32, 0, nullptr, nullptr));
  std::iota(more, more + 8, 1);
  check(clEnqueueSVMUnmap(queue_, more, 0, nullptr, nullptr));
  Recorded commands(queue_);
  {
    cl_int error = CL_SUCCESS;
    const Owned<cl_mem> image(
        clCreateImage(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &description, pixels.data(), &error));
    check(error);
    const cl_sampler sampler = clCreateSampler(context_, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
    check(error);
    check(set_arg(gather, 0, image));
    check(set_arg(gather, 1, sampler));
    check(set_arg(gather, 2, out));
    check(clSetKernelArgSVMPointer(gather, 3, more));
    commands.kernel(gather, 8);
    check(clReleaseSampler(sampler));
  }
  commands.finalize();
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(commands.replay(), CL_SUCCESS);
    EXPECT_EQ(read<int>(queue_, out, 8), (std::vector<int>{1, 12, 23, 34, 45, 56, 67, 78}));
  }
  clSVMFree(context_, more);
}

TEST_F(CommandBufferTest, KernelsThatPrint) {
  for (const bool in_order : {true, false}) {
    const Owned<cl_command_queue> queue = in_order ? make_queue(context_, device(0)) : make_out_of_order();
    const Owned<cl_program> program = build(context_, R"(
      kernel void tell(global int* data) { printf("%d;", data[0]); data[0] += 1; })");
    const Owned<cl_kernel> tell = make_kernel(program, "tell");
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>{41});
    check(set_arg(tell, 0, buffer));
    Recorded commands(queue);
    commands.kernel(tell, 1);
    commands.barrier();
    commands.kernel(tell, 1);
    commands.finalize();
    ::testing::internal::CaptureStdout();
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(commands.replay(), CL_SUCCESS);
      EXPECT_EQ(clFinish(queue), CL_SUCCESS);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "41;42;43;44;45;46;");
  }
}

}  // namespace
}  // namespace remotecl::testing
