// A driver whose kernels' events end only after all kernels that were launched before, in any queue, and whose releases
// of memory wait for all kernels, as NVIDIA's do: other queues go on all the same.
#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

class LateEventsTest : public FakeDriverTest {
 protected:
  // Until the long kernel has ended.
  static constexpr std::size_t kLong = 1500;  // items, of a millisecond each

  LateEventsTest() {
    set_arguments(fill_, buffer_, 37);
    set_arguments(long_fill_, long_buffer_, 1);
    check(run(busy_, long_fill_, kLong, {}, long_.out()));
    check(clFlush(busy_));
  }
  ~LateEventsTest() override {
    EXPECT_NE(status_when_seen_, CL_COMPLETE) << "the test waited for the long kernel";
    check(clFinish(busy_));
  }
  // The others have ended.
  void seen() { status_when_seen_ = status(long_); }

  const cl_device_id gpu_ = devices(CL_DEVICE_TYPE_GPU).front();
  const Owned<cl_context> context_ = make_context({gpu_});
  const Owned<cl_command_queue> busy_ = make_queue(context_, gpu_), queue_ = make_queue(context_, gpu_);
  const Owned<cl_program> program_ = build(context_, "fill_mv");
  const Owned<cl_kernel> fill_ = make_kernel(program_, "fill_mv"), long_fill_ = make_kernel(program_, "fill_mv");
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_mem> long_buffer_ = make_buffer(context_, kLong * sizeof(int));
  Owned<cl_event> long_;
  cl_int status_when_seen_ = CL_COMPLETE;
};

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
  const Owned<cl_command_queue> third = make_queue(context_, gpu_);
  Owned<cl_event> first, second;
  check(run(queue_, fill_, 4, {}, first.out()));
  check(run(third, fill_, 4, {first}, second.out()));
  check(clFlush(queue_));
  check(clWaitForEvents(1, second.pointer()));
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

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(
      1, {"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "OCL_ICD_PLATFORM_SORT=none",
          "REMOTECL_FAKE_DRIVER=platform=NVIDIA CUDA,gpu=1,late-events,slow-releases,item-ns=1000000"}));
  return RUN_ALL_TESTS();
}
