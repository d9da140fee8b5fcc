#include "server/completion/event_waiters.h"

#include <algorithm>
#include <future>

#include "server/completion/reported_events.h"

namespace remotecl::server {
namespace {

using EventWaitersTest = ReportedEventsTest;

TEST_F(EventWaitersTest, WhatEndedIsReportedBeforeWhatWaitedForIt) {
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
    ASSERT_EQ(reported(expected.size()), expected);
  }
}

TEST_F(EventWaitersTest, ManyThatEndTogetherAreReportedInTheirOrder) {
  const cl_command_queue out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(i);
  for (int round = 0; round < 20; ++round) {
    const cl_event start = gate();
    cl_event last = start;
    for (const int i : expected) note(last = marker(out_of_order, {last}), i);
    clFlush(out_of_order);
    clSetUserEventStatus(start, CL_COMPLETE);
    ASSERT_EQ(reported(expected.size()), expected);
  }
}

TEST_F(EventWaitersTest, MoreThanThereAreThreadsForAreReportedInTheirOrder) {
  const cl_command_queue out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) expected.push_back(i);
  for (int round = 0; round < 5; ++round) {
    const cl_event start = gate();
    cl_event last = start;
    for (const int i : expected) note(last = marker(out_of_order, {last}), i);
    clFlush(out_of_order);
    clSetUserEventStatus(start, CL_COMPLETE);
    ASSERT_EQ(reported(expected.size()), expected);
  }
}

TEST_F(EventWaitersTest, WhatNoThreadIsLeftForIsReportedInItsTurn) {
  constexpr int kMoreThanThreads = 200;
  const cl_event start = gate(), other = gate();
  const cl_command_queue out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_event first = marker(queue(0), {start}), last = marker(out_of_order, {first});
  session_.notify(first, [this](cl_int) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return !reported_.empty(); });
    reported_.push_back(1);
    changed_.notify_all();
  });
  for (int i = 0; i < kMoreThanThreads; ++i) session_.notify(marker(out_of_order, {other}), [](cl_int) {});
  note(last, 2);
  for (cl_command_queue one : queues_) clFlush(one);
  clSetUserEventStatus(start, CL_COMPLETE);
  EXPECT_EQ(reported(2), (std::vector<int>{1, 2}));
  clSetUserEventStatus(other, CL_COMPLETE);
}

// A callback that has found its queue without more events must not count as free any more when the next one is asked
// for.
TEST_F(EventWaitersTest, WhatIsAskedForWhileACallbackEndsIsReportedThoughAllThreadsWait) {
  constexpr int kMoreThanThreads = 200;
  const cl_event other = gate();
  const cl_command_queue busy = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_command_queue out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  for (int i = 0; i < kMoreThanThreads; ++i) session_.notify(marker(busy, {other}), [](cl_int) {});
  for (int round = 0; round < 3000; ++round) {
    const cl_event first_gate = gate(), second_gate = gate();
    note(marker(out_of_order, {first_gate}), 1);
    const cl_event second = marker(out_of_order, {second_gate});
    clFlush(out_of_order);
    std::thread ends([&] { clSetUserEventStatus(first_gate, CL_COMPLETE); });
    const auto later = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 100);
    while (std::chrono::steady_clock::now() < later) {
    }
    note(second, 2);
    ends.join();
    clSetUserEventStatus(second_gate, CL_COMPLETE);
    ASSERT_EQ(reported(2), (std::vector<int>{1, 2})) << "round " << round;
  }
  clSetUserEventStatus(other, CL_COMPLETE);
}

TEST_F(EventWaitersTest, OneThatIsHeldHoldsNoOther) {
  const cl_event first = gate(), second = gate();
  note(marker(queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), {first}), 1);
  note(marker(queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), {second}), 2);
  for (cl_command_queue one : queues_) clFlush(one);
  clSetUserEventStatus(second, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{2});
  clSetUserEventStatus(first, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{1});
}

// The report of the first one has not come back, and must be waited for in its own session only.
TEST_F(EventWaitersTest, OtherSessionsAndWhatIsApartDoNotWait) {
  const cl_event start = gate();
  const cl_event first = marker(queue(0), {start}), second = marker(queue(0), {first}),
                 third = marker(queue(0), {first});
  const cl_event last = marker(queue(0), {first});
  std::promise<void> released;
  session_.notify(first, [&released](cl_int) { released.get_future().wait(); });
  note(second, 2);
  other_session_.notify(third, noting(3));
  session_.notify_apart(last, noting(4));
  for (cl_command_queue one : queues_) clFlush(one);
  clSetUserEventStatus(start, CL_COMPLETE);
  std::vector<int> others = reported(2);
  std::sort(others.begin(), others.end());
  EXPECT_EQ(others, (std::vector<int>{3, 4}));
  released.set_value();
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

TEST_F(EventWaitersTest, OneThatIsAskedForAfterALaterOneOfItsQueueIsNotHeldByThat) {
  const cl_command_queue in_order = queue(0);
  const cl_event first_gate = gate(), last_gate = gate();
  const cl_event first = marker(in_order, {first_gate}), last = marker(in_order, {last_gate});
  session_.comes(1);
  session_.comes(2);
  session_.notify(last, noting(2));
  session_.notify(first, noting(1), 1);
  clFlush(in_order);
  clSetUserEventStatus(first_gate, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{1});
  session_.notify_asked(first, noting(3), 1);
  EXPECT_EQ(reported(1), std::vector<int>{3});
  clSetUserEventStatus(last_gate, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

// A transfer and the like are noted without a position, which may make the last position that of a command before them.
TEST_F(EventWaitersTest, OneWithoutAPositionHoldsNoneBeforeIt) {
  const cl_command_queue in_order = queue(0);
  const cl_event first_gate = gate(), last_gate = gate();
  const cl_event first = marker(in_order, {first_gate}), last = marker(in_order, {last_gate});
  session_.comes(1);
  note(last, 2);
  session_.notify(first, noting(1), 1);
  clFlush(in_order);
  clSetUserEventStatus(first_gate, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{1});
  session_.notify_asked(first, noting(3), 1);
  EXPECT_EQ(reported_, std::vector<int>{3});
  reported_.clear();
  clSetUserEventStatus(last_gate, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

TEST_F(EventWaitersTest, WhatHasEndedIsReportedThoughOneBeforeItIsWaitedFor) {
  const cl_command_queue in_order = queue(0);
  const cl_event first_gate = gate();
  const cl_event first = marker(in_order, {first_gate});
  session_.comes(1);
  session_.comes(2);
  note(first, 2);
  const cl_event ended = gate();
  clSetUserEventStatus(ended, CL_COMPLETE);
  session_.notify_asked(ended, noting(1), 3);
  EXPECT_EQ(reported_, std::vector<int>{1});
  reported_.clear();
  clFlush(in_order);
  clSetUserEventStatus(first_gate, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

TEST_F(EventWaitersTest, FailureIsReported) {
  const cl_command_queue in_order = queue(0);
  const cl_event start = gate();
  note(marker(in_order, {start}), 1);
  clFlush(in_order);
  clSetUserEventStatus(start, -7);
  EXPECT_LT(reported(1)[0], 0);
}

TEST_F(EventWaitersTest, WhatHasEndedIsReportedAtOnce) {
  const cl_event event = marker(queue(0), {});
  clWaitForEvents(1, &event);
  note(event, 5);
  EXPECT_EQ(reported_, std::vector<int>{5});
}

// The thread that reports what has waited for it may not have come back from that when somebody asks for its end.
TEST_F(EventWaitersTest, WhatHasEndedIsReportedWhenAskedForAfterWhatWaitedForIt) {
  const cl_event start = gate();
  const cl_event first = marker(queue(0), {start}), last = marker(queue(0), {first});
  std::promise<void> reporting, released;
  session_.notify(last, [&](cl_int) {
    reporting.set_value();
    released.get_future().wait();
  });
  for (cl_command_queue one : queues_) clFlush(one);
  clSetUserEventStatus(start, CL_COMPLETE);
  reporting.get_future().wait();
  auto asked = std::async(std::launch::async, [&] {
    session_.notify_asked(first, noting(1));
    return reported_;
  });
  EXPECT_EQ(asked.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  released.set_value();
  EXPECT_EQ(asked.get(), std::vector<int>{1});
}

// It may hold a lock that others need.
TEST_F(EventWaitersTest, WhoSeesAnEndDoesNotWaitForAThreadThatIsReporting) {
  const cl_event start = gate(), first = marker(queue(0), {start}), ended = marker(queue(0), {});
  clWaitForEvents(1, &ended);
  std::promise<void> reporting, released;
  session_.notify(first, [&](cl_int) {
    reporting.set_value();
    released.get_future().wait();
  });
  clSetUserEventStatus(start, CL_COMPLETE);
  reporting.get_future().wait();
  note(ended, 2);
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(reported_, std::vector<int>{});
  }
  released.set_value();
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

TEST_F(EventWaitersTest, ThreadsEndWithTheirSession) {
  const cl_event start = gate(), end = marker(queue(0), {start});
  const Ref<EventWaiters> waiters = make_ref<EventWaiters>(CompletionNotifier::Failed());
  waiters->add(context_);
  CompletionNotifier::Function function = noting(1);
  ASSERT_TRUE(waiters->wait(end, function));
  waiters->stop();  // the event is still reported
  clSetUserEventStatus(start, CL_COMPLETE);
  EXPECT_EQ(reported(1), std::vector<int>{1});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (waiters->ref_count() != 1 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(waiters->ref_count(), 1u);
}

TEST_F(EventWaitersTest, OtherContextsAreLeftAlone) {
  cl_int error = CL_SUCCESS;
  cl_context other = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
  const cl_event event = clCreateUserEvent(other, &error);
  const Ref<EventWaiters> waiters = make_ref<EventWaiters>(CompletionNotifier::Failed());
  waiters->add(context_);
  EventWaiters::Function function = [](cl_int) {};
  EXPECT_FALSE(waiters->wait(event, function));
  EXPECT_TRUE(static_cast<bool>(function));
  clSetUserEventStatus(event, CL_COMPLETE);  // or NVIDIA's driver does not let go of the context
  clReleaseEvent(event);
  clReleaseContext(other);
}

}  // namespace
}  // namespace remotecl::server
