// What a program may conclude from an end or failure that it knows. The daemons' devices are CPUs, whose driver calls
// back in time, or does not.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class KnownEndsTest : public FakeDriverTest {
 protected:
  KnownEndsTest() { set_arguments(fill_, buffer_, 37); }
  ~KnownEndsTest() override { command_driver(""); }

  static bool soon(cl_event event, cl_int wanted) {
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (status(event) != wanted && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
    return status(event) == wanted;
  }
  Owned<cl_event> run_kernel(cl_command_queue queue, const std::vector<cl_event>& waits = {}) {
    Owned<cl_event> event;
    check(run(queue, fill_, kCount, waits, event.out()));
    check(clFlush(queue));
    return event;
  }

  const std::vector<cl_device_id> cpus_ = devices(CL_DEVICE_TYPE_CPU);
  const Owned<cl_context> context_ = make_context(cpus_);
  const Owned<cl_command_queue> queue_ = make_queue(context_, cpus_[0]), other_ = make_queue(context_, cpus_[0]);
  const Owned<cl_program> program_ = build(context_, "fill_mv");
  const Owned<cl_kernel> fill_ = make_kernel(program_, "fill_mv");
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));
};

TEST_F(KnownEndsTest, WhatACommandHasWaitedForHasEndedWithIt) {
  command_driver("kernel-us=20000,callback-us=2000000");
  const Owned<cl_event> kernel = run_kernel(queue_);
  EXPECT_NE(status(kernel), CL_COMPLETE);  // asked for
  cl_int error = CL_SUCCESS;
  Owned<cl_event> mapped;
  void* const memory = clEnqueueMapBuffer(other_, buffer_, CL_FALSE, CL_MAP_READ, 0, kCount * sizeof(int), 1,
                                          kernel.pointer(), mapped.out(), &error);
  check(error);
  EXPECT_TRUE(soon(mapped, CL_COMPLETE));
  EXPECT_EQ(status(kernel), CL_COMPLETE);
  check(clEnqueueUnmapMemObject(other_, buffer_, memory, 0, nullptr, nullptr));
}

TEST_F(KnownEndsTest, WhatNobodyHasAskedForHasEndedWithIt) {
  command_driver("kernel-us=20000,callback-us=2000000");
  const Owned<cl_event> kernel = run_kernel(queue_);
  const Owned<cl_event> later = run_kernel(other_, {kernel.get()});
  check(clFinish(other_));
  EXPECT_EQ(status(kernel), CL_COMPLETE);
}

// The call's end is known from its bytes.
TEST_F(KnownEndsTest, WhatABlockingReadWithoutAnEventHasWaitedForHasEnded) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{1} << 20}) {
    const Owned<cl_mem> other = make_buffer(context_, std::vector<int>(1 << 18, 5));
    std::vector<int> got(1 << 18);
    command_driver("kernel-us=20000,callback-us=2000000");
    const Owned<cl_event> kernel = run_kernel(queue_);
    EXPECT_NE(status(kernel), CL_COMPLETE);  // asked for
    check(clEnqueueReadBuffer(other_, other, CL_TRUE, 0, size, got.data(), 1, kernel.pointer(), nullptr));
    EXPECT_EQ(status(kernel), CL_COMPLETE) << size;
  }
}

// Not only directly, and whatever the program has released.
TEST_F(KnownEndsTest, WhatCameBeforeThatHasEnded) {
  command_driver("kernel-us=20000,callback-us=2000000");
  const Owned<cl_event> kernel = run_kernel(queue_);
  EXPECT_NE(status(kernel), CL_COMPLETE);
  check(clEnqueueMarkerWithWaitList(other_, 1, kernel.pointer(), nullptr));
  command_driver("");
  const Owned<cl_event> last = run_kernel(other_);
  check(clWaitForEvents(1, last.pointer()));
  EXPECT_EQ(status(kernel), CL_COMPLETE);
}

TEST_F(KnownEndsTest, AFailureThatFinishKnowsHidesNoLaterOne) {
  command_driver("chained-failures,fail=kernel:1:-9999");
  const Owned<cl_event> failed = run_kernel(queue_);
  EXPECT_TRUE(soon(failed, -9999));
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS);  // its event has said it
  check(run(queue_, fill_, kCount));
  EXPECT_NE(clFinish(queue_), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
}

TEST_F(KnownEndsTest, AFailureThatItsEventHasReportedHidesNoLaterOne) {
  command_driver("chained-failures,fail=kernel:1:-9999");
  const Owned<cl_event> failed = run_kernel(queue_);
  EXPECT_TRUE(soon(failed, -9999));
  check(run(queue_, fill_, kCount));
  EXPECT_NE(clFinish(queue_), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
}

TEST_F(KnownEndsTest, AFailureThatNobodyHasSeenYetHidesNoLaterOne) {
  command_driver("chained-failures,fail=kernel:1:-9999,kernel-us=20000");
  const Owned<cl_event> failed = run_kernel(queue_);
  check(run(queue_, fill_, kCount));
  EXPECT_NE(clFinish(queue_), CL_SUCCESS);
  EXPECT_EQ(status(failed), -9999);
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
}

TEST_F(KnownEndsTest, OneOfSeveralFinishesReportsAFailure) {
  for (int round = 0; round < 10; ++round) {
    command_driver("chained-failures,fail=kernel:1:-9999,kernel-us=20000");
    const Owned<cl_command_queue> queue = make_queue(context_, cpus_[0]);
    check(run(queue, fill_, kCount));
    std::atomic<int> failures{0};
    std::array<std::thread, 40> threads;
    for (std::thread& thread : threads) {
      thread = std::thread([&] { failures += clFinish(queue) != CL_SUCCESS ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 1);
  }
}

TEST_F(KnownEndsTest, FinishOfARefusedQueueWaitsForWhatIsHeldBack) {
  command_driver("fail=clCreateCommandQueue:0:-6");
  const Owned<cl_command_queue> refused = make_queue(context_, cpus_[0]);
  const Owned<cl_event> user = make_user_event(context_);
  const std::vector<int> numbers(1 << 16, 5);
  const Owned<cl_mem> large = make_buffer(context_, numbers.size() * sizeof(int));
  Owned<cl_event> write;
  check(clEnqueueWriteBuffer(refused, large, CL_FALSE, 0, numbers.size() * sizeof(int), numbers.data(), 1,
                             user.pointer(), write.out()));
  std::atomic<bool> is_set{false};
  std::thread setter([&] {
    std::this_thread::sleep_for(100ms);
    is_set = true;
    clSetUserEventStatus(user, CL_COMPLETE);
  });
  EXPECT_EQ(clFinish(refused), CL_SUCCESS);  // the event says why
  EXPECT_TRUE(is_set);
  EXPECT_EQ(status(write), CL_OUT_OF_HOST_MEMORY);
  setter.join();
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  remotecl::testing::fake_devices = "cpu=1";
  return remotecl::testing::run_with_two_fake_daemons(argc, argv);
}
