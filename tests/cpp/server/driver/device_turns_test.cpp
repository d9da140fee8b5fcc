// Whose command a device runs, as far as that shows in what begins and ends.
#include "server/driver/device_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using server::CompletionNotifier;
using server::DeviceTurn;
using server::DeviceTurns;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFirst = 1, kSecond = 2;

// Two sessions that give commands to one device. A user event stands for a command.
class DeviceTurnsTest : public ::testing::Test {
 protected:
  DeviceTurnsTest() {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int error = clGetPlatformIDs(1, &platform, nullptr);
    if (error == CL_SUCCESS) error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    if (error == CL_SUCCESS) context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    if (error != CL_SUCCESS) throw std::runtime_error("no device to take turns on");
    first_ = turns_->join(kFirst, 1, std::nullopt, completions_, true);
    second_ = turns_->join(kSecond, 1, std::nullopt, completions_, true);
  }
  ~DeviceTurnsTest() override {
    first_->leave();
    second_->leave();
    clReleaseContext(context_);
  }

  // The driver gets a command, and then the session says so.
  static void give(DeviceTurn& turn) { EXPECT_TRUE(turn.is_due(1)); }
  cl_event say(DeviceTurn& turn) {
    const cl_event event = clCreateUserEvent(context_, nullptr);
    turn.add(1, event);
    return event;
  }
  cl_event begin(DeviceTurn& turn) {
    give(turn);
    return say(turn);
  }
  static void end(cl_event event) {
    std::this_thread::sleep_for(2ms);  // that it takes
    clSetUserEventStatus(event, CL_COMPLETE);
    clReleaseEvent(event);
  }
  void expect_longest(std::uint64_t session, Clock::time_point since) const {
    const auto longest = turns_->longest();
    ASSERT_TRUE(longest.has_value());
    EXPECT_EQ(longest->session, session);
    EXPECT_GE(longest->since, since);
  }

  cl_context context_ = nullptr;
  const CompletionNotifier completions_;
  const Ref<DeviceTurns> turns_ = make_ref<DeviceTurns>();
  Ref<DeviceTurn> first_, second_;
};

TEST_F(DeviceTurnsTest, WhoCameFirstIsTheOneWhoseCommandRuns) {
  const cl_event one = begin(*first_), other = begin(*second_);
  expect_longest(kFirst, {});
  const auto before = Clock::now();
  end(one);
  expect_longest(kSecond, before);  // it has waited until then
  end(other);
  EXPECT_FALSE(turns_->longest());
}

// The driver has them in the other order than the one in which the sessions say so.
TEST_F(DeviceTurnsTest, WhoIsNotedFirstMayHaveWaitedAllTheSame) {
  give(*second_);
  const cl_event one = begin(*first_), other = say(*second_);
  const auto before = Clock::now();
  end(other);
  expect_longest(kFirst, before);
  end(one);
}

TEST_F(DeviceTurnsTest, WhatCameLaterHasNotKeptTheFormerOneWaiting) {
  const auto before = Clock::now();
  const cl_event one = begin(*first_);
  const auto after = Clock::now();
  for (int i = 0; i < 3; ++i) end(begin(*second_));  // beside it
  expect_longest(kFirst, before);
  EXPECT_LE(turns_->longest()->since, after);
  end(one);
}

TEST_F(DeviceTurnsTest, WhoeverLeavesKeepsNobodyWaiting) {
  const cl_event one = begin(*first_), other = begin(*second_);
  const auto before = Clock::now();
  first_->leave();
  expect_longest(kSecond, before);
  end(one);
  end(other);
}

// The first one has all the device while the second one waits; both have had more than their share.
TEST_F(DeviceTurnsTest, ASessionThatIsOverWaitsForNobodysCommands) {
  std::vector<cl_event> of_first, of_second;
  for (int i = 0; i < 100; ++i) of_first.push_back(begin(*first_));
  while (of_second.size() < 200) of_second.push_back(begin(*second_));
  for (const cl_event event : of_second) end(event);
  EXPECT_FALSE(second_->wait_for(10ms));
  auto waits = std::async(std::launch::async, [this] { second_->wait(); });
  EXPECT_EQ(waits.wait_for(50ms), std::future_status::timeout);
  second_->end_waits();
  EXPECT_EQ(waits.wait_for(10s), std::future_status::ready);
  EXPECT_TRUE(second_->wait_for(0ms)) << "and never again";
  for (const cl_event event : of_first) end(event);
}

}  // namespace
}  // namespace remotecl::testing
