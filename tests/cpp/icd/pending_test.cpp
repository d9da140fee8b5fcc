// Many commands behind a user event: what one more costs does not depend on their number.
#include <vector>

#include "icd/fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kLarge = 128u << 10;  // travels outside its command

class PendingTest : public RemoteTest {
 protected:
  // How much one more round sends, at the end of so many.
  template <class Round>
  std::uint64_t bytes_of_last(int rounds, Round&& round) {
    cl_int error = CL_SUCCESS;
    const Owned<cl_event> start(clCreateUserEvent(context_, &error));
    check(error);
    const cl_event wait = start;
    for (cl_command_queue queue : {queue_.get(), other_.get()}) {
      check(clEnqueueMarkerWithWaitList(queue, 1, &wait, nullptr));
    }
    std::uint64_t before = 0;
    for (int i = 0; i < rounds; ++i) {
      if (i + kLast == rounds) before = sent();
      round(i);
    }
    const std::uint64_t bytes = sent() - before;
    check(clSetUserEventStatus(start, CL_COMPLETE));
    check(clFinish(queue_));
    check(clFinish(other_));
    return bytes / kLast;
  }

 private:
  static constexpr int kLast = 20;

  std::uint64_t sent() {
    check(clFlush(queue_));
    check(clFlush(other_));
    return statistic("bytes_sent");
  }
};

// Each map waits until nothing reads the host's copy.
TEST_F(PendingTest, MapsAfterManyUnmappings) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kLarge / sizeof(int), 1));
  const auto round = [&](int i) {
    cl_command_queue queue = i % 2 == 0 ? queue_ : other_;
    cl_int error = CL_SUCCESS;
    void* const mapped = clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0, kLarge, 0,
                                            nullptr, nullptr, &error);
    check(error);
    check(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr));
  };
  const std::uint64_t few = bytes_of_last(60, round), many = bytes_of_last(600, round);
  EXPECT_LT(many, 2 * few + 200);
}

TEST_F(PendingTest, KernelsThatTakeTurnsOnTwoServers) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(256, 1));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  const auto round = [&](int i) { check(run(i % 2 == 0 ? queue_ : other_, add, 256)); };
  const std::uint64_t few = bytes_of_last(60, round), many = bytes_of_last(600, round);
  EXPECT_LT(many, 2 * few + 200);
  EXPECT_EQ(read<int>(queue_, buffer, 256), std::vector<int>(256, 661));
}

// A command may wait for many events, and names each once.
TEST_F(PendingTest, AMarkerForManyEvents) {
  constexpr std::size_t kCount = 20'000;
  cl_int error = CL_SUCCESS;
  const Owned<cl_event> start(clCreateUserEvent(context_, &error));
  check(error);
  const cl_event wait = start;
  std::vector<Owned<cl_event>> events(kCount);
  std::vector<cl_event> all;
  for (auto& event : events) {
    check(clEnqueueMarkerWithWaitList(queue_, 1, &wait, event.out()));
    all.push_back(event);
    all.push_back(event);
  }
  check(clFlush(queue_));
  const std::uint64_t before = statistic("bytes_sent");
  Owned<cl_event> last;
  check(clEnqueueMarkerWithWaitList(queue_, static_cast<cl_uint>(all.size()), all.data(), last.out()));
  check(clFlush(queue_));
  EXPECT_LT(statistic("bytes_sent") - before, (kCount + 1000) * sizeof(std::uint64_t));
  check(clSetUserEventStatus(start, CL_COMPLETE));
  const cl_event end = last;
  check(clWaitForEvents(1, &end));
}

}  // namespace
}  // namespace remotecl::testing
