// What a program may conclude when a blocking write has returned: the write has ended, and everything before it in an
// in-order queue. The fake driver runs each queue on a thread of its own, and its kernels take long.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kMany = 1u << 20;  // more than is pushed: 4 MiB

class ReturnedWriteTest : public FakeDriverTest {
 protected:
  ReturnedWriteTest() {
    set_arguments(fill_, first_, 37);
    command_driver("kernel-us=100000");
  }

  // A kernel that fills the first buffer, later.
  void fill_slowly(cl_command_queue queue) { check(run(queue, fill_, kCount)); }
  void write(cl_command_queue queue, cl_mem buffer, const std::vector<int>& numbers) {
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, numbers.size() * sizeof(int), numbers.data(), 0, nullptr,
                               nullptr));
  }
  // The first numbers of the buffer as a command of `queue` sees them.
  std::vector<int> seen(cl_command_queue queue, cl_mem buffer) { return read<int>(queue, buffer, 4); }

  const cl_device_id gpu_ = devices(CL_DEVICE_TYPE_GPU).front();
  const Owned<cl_context> context_ = make_context({gpu_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, gpu_);
  const Owned<cl_program> program_ = build(context_, "fill_mv");
  const Owned<cl_kernel> fill_ = make_kernel(program_, "fill_mv");
  const Owned<cl_mem> first_ = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_mem> second_ = make_buffer(context_, kMany * sizeof(int));
  const std::vector<int> filled_ = std::vector<int>(4, 37);
  const std::vector<int> few_ = std::vector<int>(4, 5);
};

TEST_F(ReturnedWriteTest, AnotherQueueSeesWhatCameBeforeASmallWrite) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  fill_slowly(queue_);
  write(queue_, second_, few_);
  EXPECT_EQ(seen(other, first_), filled_);
}

TEST_F(ReturnedWriteTest, AnotherQueueSeesASmallWriteBehindAKernel) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  fill_slowly(queue_);
  write(queue_, second_, few_);
  EXPECT_EQ(seen(other, second_), few_);
}

TEST_F(ReturnedWriteTest, AnotherQueueSeesLargeWritesBehindAKernel) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  for (const std::size_t count : {std::size_t{100'000}, kMany}) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), static_cast<int>(count));
    fill_slowly(queue_);
    write(queue_, second_, numbers);
    numbers.resize(4);
    EXPECT_EQ(seen(other, second_), numbers);
  }
}

TEST_F(ReturnedWriteTest, AnotherQueueSeesARectangleBehindAKernel) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  fill_slowly(queue_);
  const std::size_t origin[3] = {}, region[3] = {4 * sizeof(int), 1, 1};
  check(clEnqueueWriteBufferRect(queue_, second_, CL_TRUE, origin, origin, region, 0, 0, 0, 0, few_.data(), 0, nullptr,
                                 nullptr));
  EXPECT_EQ(seen(other, second_), few_);
}

TEST_F(ReturnedWriteTest, AQueueThatIsMadeLaterSeesIt) {
  fill_slowly(queue_);
  write(queue_, second_, few_);
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  EXPECT_EQ(seen(other, first_), filled_);
}

TEST_F(ReturnedWriteTest, AQueueThatIsMadeAfterTheReleaseOfTheFirstSeesIt) {
  {
    const Owned<cl_command_queue> first = make_queue(context_, gpu_);
    fill_slowly(first);
    write(first, second_, few_);
  }
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  EXPECT_EQ(seen(other, first_), filled_);
}

TEST_F(ReturnedWriteTest, BytesOfAnEarlierReadAreThere) {
  std::vector<int> numbers(kCount);
  fill_slowly(queue_);
  check(clEnqueueReadBuffer(queue_, first_, CL_FALSE, 0, kCount * sizeof(int), numbers.data(), 0, nullptr, nullptr));
  write(queue_, second_, few_);
  EXPECT_EQ(numbers, std::vector<int>(kCount, 37));
}

// A write that does not block may still be in its memory, where the program may put something else now.
TEST_F(ReturnedWriteTest, BytesOfAnEarlierWriteHaveLeft) {
  for (const std::size_t count : {std::size_t{100'000}, kMany, 3 * kMany}) {
    const Owned<cl_mem> buffer = make_buffer(context_, count * sizeof(int));
    std::vector<int> numbers(count, 3);
    fill_slowly(queue_);
    check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, count * sizeof(int), numbers.data(), 0, nullptr, nullptr));
    write(queue_, second_, few_);
    std::fill(numbers.begin(), numbers.end(), 4);
    EXPECT_EQ(read<int>(queue_, buffer, count), std::vector<int>(count, 3)) << count;
  }
}

TEST_F(ReturnedWriteTest, AFailureIsStillReported) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  write(queue_, second_, few_);
  check(clFinish(queue_));
  command_driver("fail=clEnqueueWriteBuffer:1");
  write(queue_, second_, few_);
  EXPECT_EQ(clFinish(queue_), CL_OUT_OF_RESOURCES);
}

TEST_F(ReturnedWriteTest, AFailureHarmsNoCommandOfAnotherQueue) {
  const Owned<cl_command_queue> other = make_queue(context_, gpu_);
  fill_slowly(other);
  check(clFinish(other));
  for (const std::size_t count : {few_.size(), std::size_t{100'000}, kMany}) {
    const std::vector<int> numbers(count);
    Owned<cl_event> event;
    fill_slowly(queue_);  // keeps the write from failing before it returns
    command_driver("fail=clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(queue_, second_, CL_TRUE, 0, count * sizeof(int), numbers.data(), 0, nullptr,
                               event.out()));
    EXPECT_EQ(seen(other, first_), filled_) << count;
    EXPECT_NE(clWaitForEvents(1, event.pointer()), CL_SUCCESS) << count;
    command_driver("kernel-us=100000");
  }
}

TEST_F(ReturnedWriteTest, QueuesThatWaitForEachOtherAreFreed) {
  std::atomic<bool> is_destroyed = false;
  {
    const Owned<cl_context> context = make_context({gpu_});
    const auto note = [](cl_context, void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
    check(clSetContextDestructorCallback(context, note, &is_destroyed));
    const Owned<cl_mem> memory = make_buffer(context, few_.size() * sizeof(int));
    const Owned<cl_command_queue> one = make_queue(context, gpu_), two = make_queue(context, gpu_);
    write(one, memory, few_);
    write(two, memory, few_);
    write(one, memory, few_);
  }
  for (int i = 0; i < 1000 && !is_destroyed; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(is_destroyed);
}

}  // namespace
}  // namespace remotecl::testing
