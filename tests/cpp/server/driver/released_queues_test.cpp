#include "server/driver/released_queues.h"

#include <gtest/gtest.h>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using server::Native;
using server::ReleasedQueues;

// A native queue whose command waits for the test. The test keeps a reference.
class ReleasedQueuesTest : public ServerTest {
 protected:
  static constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

  ReleasedQueuesTest() {
    server::Device& device = *server_.driver().device(0);
    cl_int error = CL_SUCCESS;
    const cl_context context = device.context(error);
    queue_ = clCreateCommandQueue(context, device.id(), kOutOfOrder, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    gate_ = Native<cl_event>(clCreateUserEvent(context, &error));
    clEnqueueMarkerWithWaitList(queue_, 1, gate_.list(), nullptr);
    clRetainCommandQueue(queue_);
  }
  ~ReleasedQueuesTest() override {
    open();
    clReleaseCommandQueue(queue_);
  }
  void open() {
    if (!std::exchange(is_open_, true)) clSetUserEventStatus(gate_.get(), CL_COMPLETE);
    clFinish(queue_);
  }
  cl_uint references() const {
    cl_uint count = 0;
    clGetCommandQueueInfo(queue_, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  }

  cl_command_queue queue_ = nullptr;
  Native<cl_event> gate_;
  bool is_open_ = false;
};

TEST_F(ReleasedQueuesTest, AQueueIsUsedAgainWhenItsCommandsHaveEnded) {
  ReleasedQueues released(true);
  released.add(queue_, kOutOfOrder);
  EXPECT_EQ(released.take(kOutOfOrder), nullptr);
  open();
  EXPECT_EQ(released.take(kOutOfOrder | CL_QUEUE_PROFILING_ENABLE), nullptr);
  cl_command_queue again = nullptr;
  EXPECT_TRUE(eventually([&] { return (again = released.take(kOutOfOrder)) != nullptr; }));
  EXPECT_EQ(again, queue_);
  EXPECT_EQ(released.take(kOutOfOrder), nullptr);
  clReleaseCommandQueue(queue_);
}

TEST_F(ReleasedQueuesTest, OthersAreReleasedAtOnce) {
  ReleasedQueues needless(false), released(true);
  const cl_uint before = references();
  clRetainCommandQueue(queue_);
  needless.add(queue_, kOutOfOrder);
  EXPECT_EQ(references(), before);
  released.add(queue_, 0);
  EXPECT_EQ(references(), before - 1);
  EXPECT_EQ(released.take(0), nullptr);
}

}  // namespace
}  // namespace remotecl::testing
