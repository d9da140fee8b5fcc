#include "server/event_waiters.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

namespace remotecl::server {
namespace {

class EventWaitersTest : public ::testing::Test {
 protected:
  EventWaitersTest() {
    cl_platform_id platform = nullptr;
    cl_int error = clGetPlatformIDs(1, &platform, nullptr);
    if (error == CL_SUCCESS) error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr);
    // One for all tests: EventWaiters never forgets it.
    static const cl_context context = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
    context_ = context;
    if (error != CL_SUCCESS) throw std::runtime_error("no device to wait for");
    EventWaiters::instance().add(context_);
  }
  ~EventWaitersTest() override {
    for (cl_event event : events_) clReleaseEvent(event);
    for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
  }

  cl_command_queue queue(cl_command_queue_properties properties) {
    return queues_.emplace_back(clCreateCommandQueue(context_, device_, properties, nullptr));
  }
  cl_event gate() { return events_.emplace_back(clCreateUserEvent(context_, nullptr)); }
  cl_event marker(cl_command_queue queue, std::vector<cl_event> wait) {
    cl_event event = nullptr;
    EXPECT_EQ(clEnqueueMarkerWithWaitList(queue, static_cast<cl_uint>(wait.size()), wait.data(), &event), CL_SUCCESS);
    return events_.emplace_back(event);
  }
  // Has `number` noted when the event is told.
  void note(cl_event event, int number) {
    EventWaiters::Function function = [this, number](cl_int status) {
      const std::lock_guard lock(mutex_);
      told_.push_back(status == CL_COMPLETE ? number : status);
      changed_.notify_all();
    };
    ASSERT_TRUE(EventWaiters::instance().wait(event, function));
  }
  std::vector<int> told(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return told_.size() == count; }));
    return std::exchange(told_, {});
  }

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_event> events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> told_;
};

TEST_F(EventWaitersTest, WhatEndedIsToldBeforeWhatWaitedForIt) {
  const cl_command_queue out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_command_queue in_order[] = {queue(0), queue(0)};
  std::vector<int> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(i);
  for (int round = 0; round < 50; ++round) {
    const cl_event start = gate();
    cl_event last = start;
    for (const int i : expected) {
      last = marker(i % 3 == 0 ? out_of_order : in_order[i % 2], {last});
      note(last, i);
    }
    for (cl_command_queue one : queues_) clFlush(one);
    clSetUserEventStatus(start, CL_COMPLETE);
    ASSERT_EQ(told(expected.size()), expected);
  }
}

TEST_F(EventWaitersTest, OneThatIsHeldHoldsNoOther) {
  const cl_event first = gate(), second = gate();
  note(marker(queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), {first}), 1);
  note(marker(queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), {second}), 2);
  for (cl_command_queue one : queues_) clFlush(one);
  clSetUserEventStatus(second, CL_COMPLETE);
  EXPECT_EQ(told(1), std::vector<int>{2});
  clSetUserEventStatus(first, CL_COMPLETE);
  EXPECT_EQ(told(1), std::vector<int>{1});
}

TEST_F(EventWaitersTest, FailureIsTold) {
  const cl_command_queue in_order = queue(0);
  const cl_event start = gate();
  note(marker(in_order, {start}), 1);
  clFlush(in_order);
  clSetUserEventStatus(start, -7);
  EXPECT_LT(told(1)[0], 0);
}

TEST_F(EventWaitersTest, WhatHasEndedIsToldAtOnce) {
  const cl_event event = marker(queue(0), {});
  clWaitForEvents(1, &event);
  note(event, 5);
  EXPECT_EQ(told_, std::vector<int>{5});
}

TEST_F(EventWaitersTest, OtherContextsAreLeftAlone) {
  cl_int error = CL_SUCCESS;
  cl_context other = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
  const cl_event event = clCreateUserEvent(other, &error);
  EventWaiters::Function function = [](cl_int) {};
  EXPECT_FALSE(EventWaiters::instance().wait(event, function));
  EXPECT_TRUE(static_cast<bool>(function));
  clReleaseEvent(event);
  clReleaseContext(other);
}

}  // namespace
}  // namespace remotecl::server
