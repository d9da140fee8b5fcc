// A driver whose kernels' events end only after all kernels that were launched before, in any queue, and whose releases
// of memory wait for all kernels, as NVIDIA's do: other queues go on all the same. It takes misaligned sub-buffers,
// too.
#include "icd/late_events.h"

namespace remotecl::testing {
namespace {

TEST_F(LateEventsTest, FinishDoesNotWaitForAnotherQueue) {
  check(run(queue_, fill_, 4));
  check(clFinish(queue_));
  seen();
  EXPECT_EQ(read<int>(queue_, buffer_, 4), std::vector<int>(4, 37));
}

TEST_F(LateEventsTest, AKernelsEventDoesNotWaitForAnotherQueue) {
  Owned<cl_event> event;
  check(run(queue_, fill_, 4, {}, event.out()));
  check(clWaitForEvents(1, event.pointer()));
  seen();
}

TEST_F(LateEventsTest, AKernelInAThirdQueueRunsAfterIt) {
  const Owned<cl_command_queue> third = make_queue(context_, device_);
  Owned<cl_event> first, second;
  check(run(queue_, fill_, 4, {}, first.out()));
  check(run(third, fill_, 4, {first}, second.out()));
  check(clFlush(queue_));
  check(clWaitForEvents(1, second.pointer()));
  seen();
}

TEST_F(LateEventsTest, AKernelThatPrintsDoesNotWaitForAnotherQueue) {
  const Owned<cl_program> printing = build(context_, "fill_mv", "-D SAY=printf");
  const Owned<cl_kernel> fill = make_kernel(printing, "fill_mv");
  set_arguments(fill, buffer_, 37);
  Owned<cl_event> event;
  check(run(queue_, fill, 4, {}, event.out()));
  check(clWaitForEvents(1, event.pointer()));
  check(clFinish(queue_));
  seen();
}

TEST_F(LateEventsTest, FillsMarkersAndMigrationsDoNotWaitForAnotherQueue) {
  Owned<cl_event> filled, marker, migrated;
  const int zero = 0;
  check(clEnqueueFillBuffer(queue_, buffer_, &zero, sizeof zero, 0, 16, 0, nullptr, filled.out()));
  check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  const cl_mem memory = buffer_;
  check(clEnqueueMigrateMemObjects(queue_, 1, &memory, 0, 0, nullptr, migrated.out()));
  for (const cl_event event : {filled.get(), marker.get(), migrated.get()}) check(clWaitForEvents(1, &event));
  seen();
}

TEST_F(LateEventsTest, NothingWaitsForTheReleaseOfABuffer) {
  Owned<cl_mem> other = make_buffer(context_, std::vector<int>(kCount, 5));
  EXPECT_EQ(read<int>(queue_, other, 1).front(), 5);
  other.reset();
  check(run(queue_, fill_, 4));
  EXPECT_EQ(read<int>(queue_, buffer_, 4), std::vector<int>(4, 37));
  seen();
}

TEST_F(LateEventsTest, ReleasedMemoryIsFreeOnceNobodyUsesTheDevice) {
  release_large(make_queue(context_, device_));
  EXPECT_TRUE(large_becomes_free());
}

TEST_F(LateEventsTest, ReleasedMemoryIsFreeOnceTheDeviceIsSeenIdle) {
  release_large(queue_);
  EXPECT_TRUE(large_becomes_free());
}

TEST_F(LateEventsTest, ReleasedMemoryIsThereForThoseWhoNeedIt) {
  // The device has 64 MiB.
  for (int i = 0; i < 12; ++i) {
    const Owned<cl_mem> large = make_buffer(context_, 12u << 20);
    const int one = 1;
    check(clEnqueueFillBuffer(queue_, large, &one, sizeof one, 0, 12u << 20, 0, nullptr, nullptr));
    EXPECT_EQ(read<int>(queue_, large, 1).front(), 1);
  }
  status_when_seen_ = CL_RUNNING;  // some of these had to wait
}

TEST_F(LateEventsTest, KernelsOnTwoDevicesReadOneBufferAtTheSameTime) {
  const std::vector<cl_device_id> gpus = devices(CL_DEVICE_TYPE_GPU);
  const Owned<cl_context> both = make_context(gpus);
  const Owned<cl_command_queue> first = make_queue(both, gpus[0]), second = make_queue(both, gpus[1]);
  const Owned<cl_mem> shared = make_buffer(both, std::vector<int>(kLong, 5));
  const Owned<cl_mem> one = make_buffer(both, kLong * sizeof(int)), other = make_buffer(both, kLong * sizeof(int));
  for (const char* const text : {"copy_mm", "unasked copy_mm"}) {
    const Owned<cl_program> program = build(both, text);
    const Owned<cl_kernel> copy = make_kernel(program, "copy_mm");
    cl_kernel_arg_type_qualifier type = 0;
    EXPECT_EQ(clGetKernelArgInfo(copy, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, nullptr),
              CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    set_arguments(copy, shared, one);
    check(run(first, copy, text[0] == 'u' ? 4 : kLong));
    check(clFlush(first));
    set_arguments(copy, shared, other);
    check(run(second, copy, 4));
    check(clFinish(second));
    if (text[0] != 'u') seen();  // the long kernels began at the same time, and are as long
    EXPECT_EQ(read<int>(second, other, 4), std::vector<int>(4, 5));
    check(clFinish(first));
  }
}

using MisalignedSubBufferTest = FakeDriverTest;

// Halide and other programs make them, which only some drivers refuse.
TEST_F(MisalignedSubBufferTest, WorksAsOnTheDriver) {
  const cl_device_id device = devices(CL_DEVICE_TYPE_GPU).front();
  ASSERT_EQ(value<cl_uint>(clGetDeviceInfo, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN), 1024u);
  const Owned<cl_context> context = make_context({device});
  const Owned<cl_command_queue> queue = make_queue(context, device);
  const Owned<cl_mem> buffer = make_buffer(context, std::vector<int>(8, 1));
  const Owned<cl_mem> part = make_sub_buffer(buffer, 3 * sizeof(int), 2 * sizeof(int));
  const Owned<cl_program> program = build(context, "fill_mv");
  const Owned<cl_kernel> fill = make_kernel(program, "fill_mv");
  set_arguments(fill, part, 5);
  check(run(queue, fill, 2));
  EXPECT_EQ(read<int>(queue, part, 2), (std::vector<int>{5, 5}));
  EXPECT_EQ(read<int>(queue, buffer, 8), (std::vector<int>{1, 1, 1, 5, 5, 1, 1, 1}));
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(remotecl::testing::Environment::with_options(
      1, {}, nullptr,
      {"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "OCL_ICD_PLATFORM_SORT=none",
       "REMOTECL_FAKE_DRIVER=platform=NVIDIA CUDA,gpu=2,cpu=1,late-events,slow-releases,"
       "any-sub-buffer,item-ns=1000000"}));
  return RUN_ALL_TESTS();
}
