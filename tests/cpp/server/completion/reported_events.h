#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/completion/completion_notifier.h"

namespace remotecl::server {

// Native events of a context whose events two sessions wait for, and what is reported of them.
class ReportedEventsTest : public ::testing::Test {
 protected:
  ReportedEventsTest() {
    cl_platform_id platform = nullptr;
    cl_int error = clGetPlatformIDs(1, &platform, nullptr);
    if (error == CL_SUCCESS) error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr);
    if (error == CL_SUCCESS) context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
    if (error != CL_SUCCESS) throw std::runtime_error("no device to wait for");
    session_.expect_late(context_);
    other_session_.expect_late(context_);
  }
  ~ReportedEventsTest() override {
    for (cl_event event : events_) clReleaseEvent(event);
    for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
    clReleaseContext(context_);
    session_.stop();
    other_session_.stop();
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
  // Has `number` noted when the event's end is reported.
  void note(cl_event event, int number) { session_.notify(event, noting(number)); }
  CompletionNotifier::Function noting(int number) {
    return [this, number](cl_int status) {
      const std::lock_guard lock(mutex_);
      reported_.push_back(status == CL_COMPLETE ? number : status);
      changed_.notify_all();
    };
  }
  std::vector<int> reported(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return reported_.size() == count; }));
    return std::exchange(reported_, {});
  }

  CompletionNotifier session_, other_session_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_event> events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> reported_;
};

}  // namespace remotecl::server
