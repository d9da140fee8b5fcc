// REMOTECL_HOST_POINTERS=coherent: mappings and fetches whose bytes come late.
#include <future>
#include <thread>

#include "icd/coherent_host_memory_fixture.h"

namespace remotecl::testing {
namespace {

TEST_F(CoherentHostMemoryTest, AMappingMayEndBeforeItsBytesAreHere) {
  std::vector<int> memory(100'000, 0);
  const Owned<cl_mem> buffer = over(memory);
  const Owned<cl_event> gate = make_user_event(context_);
  add(queue_, buffer, memory.size(), 1);
  cl_int error = CL_SUCCESS;
  void* const mapped =
      clEnqueueMapBuffer(queue_, buffer, CL_FALSE, CL_MAP_READ, 0, 400'000, 1, gate.pointer(), nullptr, &error);
  check(error);
  check(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
  const int zero = 0;
  check(clEnqueueFillBuffer(queue_, buffer, &zero, 4, 0, 400'000, 0, nullptr, nullptr));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(memory, std::vector<int>(100'000, 0));
  memory[5] = 5;
  add(queue_, buffer, memory.size(), 1);
  EXPECT_EQ(read<int>(queue_, buffer, 1, 20), std::vector<int>{6});
}

TEST_F(CoherentHostMemoryTest, WhatLiesBesideAMappedRegionIsNotMapped) {
  std::vector<int> memory(1024, 0);
  const Owned<cl_mem> buffer = over(memory);
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  desc.image_width = memory.size();
  desc.buffer = buffer;
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> image(clCreateImage(context_, CL_MEM_READ_WRITE, &format, &desc, nullptr, &error));
  check(error);
  add(queue_, buffer, memory.size(), 1);
  check(clFinish(queue_));
  for (const cl_map_flags flags : {CL_MAP_READ, CL_MAP_WRITE}) {
    const std::size_t origin[3] = {8, 0, 0}, region[3] = {8, 1, 1};
    std::size_t pitch = 0;
    auto* const mapped = static_cast<int*>(
        clEnqueueMapImage(queue_, image, CL_TRUE, flags, origin, region, &pitch, nullptr, 0, nullptr, nullptr, &error));
    check(error);
    EXPECT_EQ(mapped, memory.data() + 8);
    memory[0] = memory[16] = memory[1023] = flags == CL_MAP_READ ? 10 : 20;
    if (flags == CL_MAP_WRITE) mapped[1] = 30;
    const std::vector<int> expected = memory;
    check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
    EXPECT_EQ(read<int>(queue_, buffer, memory.size()), expected);
    EXPECT_EQ(memory, expected);
  }
}

// The thread's fetch waits for the buffer's content size, which is on its way from the other server.
TEST_F(CoherentHostMemoryTest, ALateFetchLeavesWhatTheProgramHasWrittenSince) {
  std::vector<int> memory(100'000, 0);
  const Owned<cl_mem> buffer = over(memory), size = make_buffer(context_, std::vector<cl_ulong>{400'000});
  check(library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size")(buffer, size));
  const Owned<cl_event> gate = make_user_event(context_);
  const cl_ulong all = 400'000;
  Owned<cl_event> first;
  add(queue_, buffer, 4096, 1, {}, first.out());
  std::promise<void> ended;
  const auto end = [](cl_event, cl_int, void* data) { static_cast<std::promise<void>*>(data)->set_value(); };
  check(clSetEventCallback(first, CL_COMPLETE, end, &ended));
  check(clFlush(queue_));
  ended.get_future().wait();
  check(clEnqueueFillBuffer(other_, size, &all, sizeof all, 0, sizeof all, 1, gate.pointer(), nullptr));
  check(clFlush(other_));
  const std::uint64_t sent = traffic().first;
  std::thread waiting([&] { check(clWaitForEvents(1, first.pointer())); });
  while (traffic().first == sent) std::this_thread::yield();
  memory[50'000] = 7;
  add(other_, buffer, 4096, 1);
  memory[50'000] = 8;
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  waiting.join();
  EXPECT_EQ(memory[50'000], 8);
  check(clFinish(other_));
  EXPECT_EQ(memory[50'000], 8);
  EXPECT_EQ(memory[0], 2);
}

}  // namespace
}  // namespace remotecl::testing
