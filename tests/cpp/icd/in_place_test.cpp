// Bulk data of CPU devices: it goes straight into and out of the memory that kernels use, without a mapping. Intel's
// driver refuses to unmap what it has given several times, and PoCL confuses such mappings.
#include <numeric>

#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

class InPlaceTest : public FakeDriverTest {
 protected:
  static constexpr std::size_t kInts = 96 * 1024, kBytes = kInts * sizeof(int);  // more than a message takes

  InPlaceTest() {
    for (int i = 0; i < 2; ++i) queues_.push_back(make_queue(context_, cpus_[0]));
    command_driver("kernel-us=2000,fail=clEnqueueMapBuffer:0:-30,fail=clEnqueueUnmapMemObject:0:-30");
  }
  ~InPlaceTest() override { command_driver(""); }

  static std::vector<int> numbers(int first) {
    std::vector<int> ints(kInts);
    std::iota(ints.begin(), ints.end(), first);
    return ints;
  }
  // buffer_[i] = first + i; the driver takes a while.
  void count(cl_command_queue queue, int first, cl_event* event = nullptr) {
    set_arguments(count_, buffer_, first);
    check(run(queue, count_, kInts, {}, event));
  }

  const std::vector<cl_device_id> cpus_ = devices(CL_DEVICE_TYPE_CPU);
  const Owned<cl_context> context_ = make_context(cpus_);
  const Owned<cl_program> program_ = build(context_, "count_mv");
  const Owned<cl_kernel> count_ = make_kernel(program_, "count_mv");
  const Owned<cl_mem> buffer_ = make_buffer(context_, kBytes);
  std::vector<Owned<cl_command_queue>> queues_;
};

TEST_F(InPlaceTest, ReadsOfDifferentSizesFromOnePlaceSucceed) {
  for (const auto& queue : queues_) {
    Owned<cl_event> counted;
    count(queue, 1, counted.out());
    std::vector<std::vector<int>> seen(6, std::vector<int>(kInts));
    std::vector<Owned<cl_event>> reads(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      check(clEnqueueReadBuffer(queues_[i % 2], buffer_, CL_FALSE, 0, kBytes - 4096 * i, seen[i].data(), 1,
                                counted.pointer(), reads[i].out()));
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(clWaitForEvents(1, reads[i].pointer()), CL_SUCCESS);
      EXPECT_EQ(status(reads[i]), CL_COMPLETE);
      EXPECT_TRUE(
          std::equal(seen[i].begin(), seen[i].end() - static_cast<std::ptrdiff_t>(1024 * i), numbers(1).begin()));
    }
  }
}

TEST_F(InPlaceTest, WritesComeBehindWhatTheyWaitFor) {
  for (const auto& queue : queues_) {
    const std::vector<int> data = numbers(-5);
    Owned<cl_event> counted, written;
    count(queues_[0], 1, counted.out());
    check(clEnqueueWriteBuffer(queue, buffer_, CL_FALSE, 0, kBytes, data.data(), 1, counted.pointer(), written.out()));
    EXPECT_EQ(clWaitForEvents(1, written.pointer()), CL_SUCCESS);
    EXPECT_TRUE(read<int>(queue, buffer_, kInts) == data);
  }
}

TEST_F(InPlaceTest, BytesGoFromDeviceToDevice) {
  const Owned<cl_command_queue> other = make_queue(context_, cpus_[1]);
  for (const auto& queue : queues_) {
    Owned<cl_event> counted;
    count(queue, 1, counted.out());
    set_arguments(count_, buffer_, 3);
    Owned<cl_event> moved;
    check(clEnqueueMigrateMemObjects(other, 1, buffer_.pointer(), 0, 1, counted.pointer(), moved.out()));
    EXPECT_EQ(clWaitForEvents(1, moved.pointer()), CL_SUCCESS);
    EXPECT_TRUE(read<int>(other, buffer_, kInts) == numbers(1));
  }
}

TEST_F(InPlaceTest, ItsTimesAreTheDrivers) {
  const Owned<cl_command_queue> profiled = make_queue(context_, cpus_[0], CL_QUEUE_PROFILING_ENABLE);
  for (const bool is_write : {false, true}) {
    std::vector<int> data = numbers(7);
    Owned<cl_event> counted, moved;
    count(profiled, 1, counted.out());
    check(is_write ? clEnqueueWriteBuffer(profiled, buffer_, CL_FALSE, 0, kBytes, data.data(), 0, nullptr, moved.out())
                   : clEnqueueReadBuffer(profiled, buffer_, CL_FALSE, 0, kBytes, data.data(), 0, nullptr, moved.out()));
    check(clFinish(profiled));
    const auto time = [](cl_event event, cl_profiling_info name) {
      return value<cl_ulong>(clGetEventProfilingInfo, event, name);
    };
    EXPECT_LE(time(counted, CL_PROFILING_COMMAND_END), time(moved, CL_PROFILING_COMMAND_START));
    EXPECT_LT(time(moved, CL_PROFILING_COMMAND_START), time(moved, CL_PROFILING_COMMAND_END));
  }
}

TEST_F(InPlaceTest, ATransferWhoseWaitListTheDriverFailsDoesNothing) {
  std::vector<int> data = numbers(7);
  check(clEnqueueWriteBuffer(queues_[0], buffer_, CL_TRUE, 0, kBytes, data.data(), 0, nullptr, nullptr));
  const Owned<cl_mem> other = make_buffer(context_, 4096 * sizeof(int));
  for (const bool is_write : {false, true}) {
    command_driver("kernel-us=2000,fail=kernel:0:-5");
    set_arguments(count_, other, 1);
    std::vector<int> mine(kInts, 1);
    Owned<cl_event> failed, moved;
    check(run(queues_[0], count_, 4096, {}, failed.out()));
    check(is_write ? clEnqueueWriteBuffer(queues_[1], buffer_, CL_FALSE, 0, kBytes, mine.data(), 1, failed.pointer(),
                                          moved.out())
                   : clEnqueueReadBuffer(queues_[1], buffer_, CL_FALSE, 0, kBytes, mine.data(), 1, failed.pointer(),
                                         moved.out()));
    EXPECT_NE(clWaitForEvents(1, moved.pointer()), CL_SUCCESS);
    EXPECT_EQ(status(moved), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_TRUE(mine == std::vector<int>(kInts, 1));
    command_driver("");
    EXPECT_TRUE(read<int>(queues_[0], buffer_, kInts) == data);
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  remotecl::testing::fake_devices = "cpu=2";
  return remotecl::testing::run_with_fake_daemons(1, argc, argv);
}
