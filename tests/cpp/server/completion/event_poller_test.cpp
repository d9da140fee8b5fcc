#include "server/completion/event_poller.h"

#include <array>
#include <future>
#include <memory>
#include <thread>

#include "runtime/transport/tcp/loopback.h"
#include "server/completion/reported_events.h"

namespace remotecl::server {
namespace {

class EventPollerTest : public ReportedEventsTest {
 protected:
  // Reads the byte that is there already: looks at the events once or more before that.
  void read_one(EventPoller& poller) {
    const std::array<std::byte, 1> byte{};
    ASSERT_TRUE(there_->write(byte));
    std::array<std::byte, 1> read{};
    ASSERT_EQ(poller.read_some(*here_, read), 1u);
  }
  // Completes `gate`, on which `event` waits, and returns when `event` has ended.
  static void open(cl_event gate, cl_event event) {
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &event);
  }

  std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> pair_ = loopback::make_pair();
  Connection* here_ = pair_.first.get();
  Connection* there_ = pair_.second.get();
};

TEST_F(EventPollerTest, ThisThreadReportsWhileItReads) {
  EventPoller poller(session_);
  const cl_event start = gate(), end = marker(queue(0), {start});
  std::thread::id reporter;
  bool is_reporting = false;
  session_.notify(end, [&](cl_int) {
    reporter = std::this_thread::get_id();
    is_reporting = EventPoller::is_reporting();
  });
  open(start, end);
  EXPECT_EQ(reporter, std::thread::id());
  read_one(poller);
  EXPECT_EQ(reporter, std::this_thread::get_id());
  EXPECT_TRUE(is_reporting);
  EXPECT_FALSE(EventPoller::is_reporting());
}

TEST_F(EventPollerTest, OthersReportWhatIsLeft) {
  const cl_event start = gate(), first = marker(queue(0), {start}), second = marker(queue(0), {start});
  {
    EventPoller poller(session_);
    note(first, 1);
    poller.leave();
    open(start, first);
    EXPECT_EQ(reported(1), std::vector<int>{1});
    note(marker(queue(0), {gate()}), 3);
    note(second, 2);
  }
  // What is left when a poller ends is reported, too.
  for (const cl_event event : events_) clSetUserEventStatus(event, CL_COMPLETE);
  std::vector<int> rest = reported(2);
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, (std::vector<int>{2, 3}));
}

TEST_F(EventPollerTest, LongEventsAreLeftWhileItReads) {
  EventPoller poller(session_);
  const cl_event start = gate(), end = marker(queue(0), {start});
  note(end, 1);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    clSetUserEventStatus(start, CL_COMPLETE);
    EXPECT_EQ(reported(1), std::vector<int>{1});
    const std::array<std::byte, 1> byte{};
    EXPECT_TRUE(there_->write(byte));
  });
  std::array<std::byte, 1> read{};
  EXPECT_EQ(poller.read_some(*here_, read), 1u);
  other.join();
}

TEST_F(EventPollerTest, WhatEndedIsReportedBeforeWhatWaitedForIt) {
  const cl_command_queue queues[] = {queue(0), queue(0), queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)};
  std::vector<int> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(i);
  for (int round = 0; round < 50; ++round) {
    EventPoller poller(session_);
    const cl_event start = gate();
    cl_event last = start;
    for (const int i : expected) {
      last = marker(queues[i % 3], {last});
      note(last, i);
      // Some lanes are left to others, so that two threads and this one report.
      if (round % 2 == 1 && i == 10) poller.leave();
    }
    for (cl_command_queue one : queues) clFlush(one);
    std::thread opener([start] { clSetUserEventStatus(start, CL_COMPLETE); });
    for (std::size_t count = 0; count < expected.size();) {
      read_one(poller);
      const std::lock_guard lock(mutex_);
      count = reported_.size();
    }
    opener.join();
    ASSERT_EQ(reported(expected.size()), expected);
  }
}

TEST_F(EventPollerTest, WhatIsReportedMayWaitForMoreAndLeave) {
  EventPoller poller(session_);
  const cl_command_queue same = queue(0);
  const cl_event start = gate(), first = marker(same, {start}), second = marker(same, {}), other = marker(queue(0), {});
  session_.notify(first, [&](cl_int) {
    note(second, 2);
    note(marker(queue(0), {gate()}), 4);
    note(other, 3);
    EventPoller::leave_all();
    note(first, 1);  // the lane that is being reported
  });
  open(start, first);
  read_one(poller);
  clSetUserEventStatus(events_.back(), CL_COMPLETE);
  for (const cl_event event : events_) clSetUserEventStatus(event, CL_COMPLETE);
  std::vector<int> rest = reported(4);
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, (std::vector<int>{1, 2, 3, 4}));
}

// Or it would wait for itself: it may enqueue what ends at once, and be asked for it.
TEST_F(EventPollerTest, AfterReportingOneMayWaitForWhatWasReported) {
  EventPoller poller(session_);
  const cl_event start = gate(), end = marker(queue(0), {start}), newer = marker(queue(0), {});
  clWaitForEvents(1, &newer);
  bool is_reporting = true;
  session_.notify(end, [&](cl_int) {
    note(end, 1);
    EventPoller::after_reporting([&] {
      is_reporting = EventPoller::is_reporting();
      note(newer, 2);
    });
  });
  open(start, end);
  read_one(poller);
  EXPECT_FALSE(is_reporting);
  EXPECT_EQ(reported(2), (std::vector<int>{1, 2}));
}

// Whoever has the lock may wait until the event's end is reported.
TEST_F(EventPollerTest, AfterReportingOneMayTakeALockUnderWhichSomebodyWaitsForWhatWasReported) {
  EventPoller poller(session_);
  const cl_event start = gate(), end = marker(queue(0), {start}), newer = marker(queue(0), {});
  clWaitForEvents(1, &newer);
  Mutex mutex;
  std::promise<void> reporting, held;
  session_.notify(end, [&](cl_int) {
    reporting.set_value();
    held.get_future().wait();
    EventPoller::after_reporting([&] { const LeavingLock lock(mutex); });
  });
  open(start, end);
  std::thread other([&] {
    const MutexLock lock(mutex);
    reporting.get_future().wait();
    held.set_value();
    note(newer, 2);
  });
  read_one(poller);
  other.join();
  EXPECT_EQ(reported(1), std::vector<int>{2});
}

TEST_F(EventPollerTest, ALockUnderWhichSomebodyWaitsForAnEventIsTaken) {
  EventPoller poller(session_);
  const cl_event start = gate(), end = marker(queue(0), {start});
  note(end, 1);
  open(start, end);
  Mutex mutex;
  bool held = false;
  std::thread other([&] {
    MutexLock lock(mutex);
    {
      const std::lock_guard guard(mutex_);
      held = true;
    }
    changed_.notify_all();
    std::unique_lock waiting(mutex_);
    EXPECT_TRUE(changed_.wait_for(waiting, std::chrono::seconds(20), [&] { return reported_.size() == 1; }));
  });
  {
    std::unique_lock waiting(mutex_);
    changed_.wait(waiting, [&] { return held; });
  }
  const LeavingLock lock(mutex);
  EXPECT_EQ(reported_, std::vector<int>{1});
  other.join();
}

}  // namespace
}  // namespace remotecl::server
