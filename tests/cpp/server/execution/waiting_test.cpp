// Commands that wait for what the native driver cannot wait for.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class WaitingTest : public CommandTest {
 protected:
  EventId expect() {
    const EventId event = client_.id();
    client_.add(ExpectEvent{event});
    return event;
  }
  void signal(EventId event, std::int32_t status = CL_COMPLETE) { client_.send(SignalEvent{event, status}); }
  // Of a queue that nothing holds.
  int value() { return client_.read<int>(other_, buffer_, 1)[0]; }

  ObjectId other_ = client_.make_queue();
  ObjectId out_of_order_ = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
};

TEST_F(WaitingTest, InOrderQueueHoldsWhatFollowsAHeldCommand) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1));
  add(10, 1001);
  const Token token = client_.id();
  client_.send(Finish{queue_, token});
  EXPECT_EQ(value(), 0);
  EXPECT_FALSE(client_.has<Finished>());
  signal(user);
  client_.wait<Finished>([&](const Finished& finished) { return finished.token == token; });
  EXPECT_EQ(value(), 11);
}

TEST_F(WaitingTest, HeldKernelRunsWithTheArgumentsOfItsTime) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1));
  add(100, 0, {}, other_);
  client_.enqueue(other_, add_, 16, {});  // still 100
  EXPECT_EQ(value(), 200);
  signal(user);
  client_.finish(queue_);
  EXPECT_EQ(value(), 201);
  client_.enqueue(other_, add_, 16, {});  // 100, though the native kernel has had 1 meanwhile
  EXPECT_EQ(value(), 301);
}

TEST_F(WaitingTest, HeldWriteKeepsItsBytesAndBuffersStayAlive) {
  const EventId user = expect();
  client_.write<int>(queue_, buffer_, std::vector<int>(16, 42), 0, std::span(&user, 1));
  const ObjectId copy = client_.make_buffer(64);
  client_.add(EnqueueCopy{queue_, 0, buffer_, copy, 0, 0, 64, {}});
  const TransferId transfer = client_.id();
  client_.add(EnqueueRead{queue_, 0, copy, 0, 64, transfer, {}});
  client_.add(ReleaseBuffer{copy});
  client_.flush();
  client_.ping();
  signal(user);
  const auto data = client_.wait<ReadData>();
  int last = 0;
  std::memcpy(&last, data->data.data() + 60, 4);
  EXPECT_EQ(last, 42);
}

TEST_F(WaitingTest, AnEndIsASuccessWhateverTheOutcome) {
  for (const std::int32_t outcome : {CL_COMPLETE, -9}) {
    const EventId user = expect(), command = client_.id(), end = client_.id(), later = client_.id();
    add(1, command, std::span(&user, 1));
    client_.add(ExpectEnd{end, command, outcome == CL_COMPLETE ? 0u : 1u});
    const int before = value();
    add(10, later, std::span(&end, 1), out_of_order_);
    client_.add(ReleaseEvent{end});
    client_.add(ObserveEvent{later});
    client_.flush();
    client_.ping();
    EXPECT_EQ(value(), before);
    signal(user, outcome);
    EXPECT_EQ(client_.event_status(later), CL_COMPLETE);
    EXPECT_EQ(value(), before + (outcome == CL_COMPLETE ? 11 : 10));
  }
}

TEST_F(WaitingTest, TheEndOfAFailedCommandComesAfterThoseBeforeIt) {
  const EventId user = expect(), failing = expect();
  const EventId failed = client_.id(), known_before = client_.id(), known_later = client_.id();
  const EventId ends[] = {known_before, known_later};
  client_.add(ExpectEnd{known_before, failed, 1});  // of an event that does not exist yet: at once
  add(1, 1000, std::span(&user, 1));
  add(100, failed, std::span(&failing, 1));
  client_.add(ExpectEnd{known_later, failed, 1});
  add(10, 1001, ends, out_of_order_);
  client_.add(ObserveEvent{1001});
  client_.flush();
  signal(failing, -1);
  client_.ping();
  EXPECT_EQ(value(), 0);
  signal(user);
  EXPECT_EQ(client_.event_status(1001), CL_COMPLETE);
  EXPECT_EQ(value(), 11);
}

TEST_F(WaitingTest, FailureReachesDependentsButNotWhatOnlyFollows) {
  const EventId user = expect();
  const EventId first = 1000, second = 1001;
  add(1, first, std::span(&user, 1));
  add(2, second, std::span(&first, 1), out_of_order_);
  add(4);  // after `first` in the queue, but not dependent on it
  client_.add(ObserveEvent{second});
  client_.flush();
  signal(user, -77);
  EXPECT_EQ(failure_of(first), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(failure_of(second), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(client_.event_status(second), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  client_.finish(queue_);
  EXPECT_EQ(value(), 4);
  EXPECT_FALSE(client_.has<CommandFailed>());
}

TEST_F(WaitingTest, DependencyThatFailedBeforeFailsAtOnce) {
  client_.enqueue(queue_, 777, 1, {}, 1000);
  const EventId failed = 1000;
  add(1, 1001, std::span(&failed, 1));
  client_.flush();
  EXPECT_EQ(failure_of(1001), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_F(WaitingTest, UnknownEventsCountAsEnded) {
  const EventId never = 424242;
  add(1, 0, std::span(&never, 1));
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 1)[0], 1);
}

TEST_F(WaitingTest, OutOfOrderCommandsPassAHeldOne) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1), out_of_order_);
  add(10, 1001, {}, out_of_order_);
  client_.send(ObserveEvent{1001});
  EXPECT_EQ(client_.event_status(1001), CL_COMPLETE);
  EXPECT_EQ(value(), 10);
  signal(user);
  client_.finish(out_of_order_);
  EXPECT_EQ(value(), 11);
}

TEST_F(WaitingTest, BarrierCoversHeldCommandsAndHoldsLaterOnes) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1), out_of_order_);
  client_.add(EnqueueMarker{out_of_order_, 1001, 1, 1, {}});
  add(10, 1002, {}, out_of_order_);
  client_.add(ObserveEvent{1002});
  client_.flush();
  EXPECT_EQ(value(), 0);
  client_.ping();
  EXPECT_FALSE(client_.has_ended(1002));
  signal(user);
  EXPECT_EQ(client_.event_status(1002), CL_COMPLETE);
  EXPECT_EQ(value(), 11);
}

TEST_F(WaitingTest, FinishOfAnOutOfOrderQueueCoversHeldCommands) {
  const EventId user = expect();
  add(1, 0, std::span(&user, 1), out_of_order_);
  const Token token = client_.id();
  client_.send(Finish{out_of_order_, token});
  client_.ping();
  EXPECT_FALSE(client_.has<Finished>());
  signal(user);
  client_.wait<Finished>();
  EXPECT_EQ(value(), 1);
}

TEST_F(WaitingTest, MarkerWithAListWaitsForNothingElse) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1), out_of_order_);
  add(10, 1001, {}, out_of_order_);
  const EventId done = 1001;
  client_.add(EnqueueMarker{out_of_order_, 1002, 0, 0, Array<EventId>(&done, 1)});
  client_.send(ObserveEvent{1002});
  EXPECT_EQ(client_.event_status(1002), CL_COMPLETE);
  signal(user);
  client_.finish(out_of_order_);
}

TEST_F(WaitingTest, ObservedUserEvent) {
  const EventId user = expect();
  client_.send(ObserveEvent{user});
  signal(user, -5);
  EXPECT_EQ(client_.event_status(user), -5);
}

TEST_F(WaitingTest, LongChainOfHeldCommands) {
  const EventId user = expect();
  EventId last = user;
  for (EventId event = 10'000; event < 20'000; ++event) {
    add(1, event, std::span(&last, 1), event % 2 == 0 ? queue_ : other_);
    last = event;
  }
  client_.add(ObserveEvent{last});
  client_.flush();
  signal(user);
  EXPECT_EQ(client_.event_status(last), CL_COMPLETE);
  EXPECT_EQ(value(), 10'000);
}

TEST_F(WaitingTest, ReleasedEventStillHoldsBackAndLetsGo) {
  const EventId user = expect();
  add(1, 1000, std::span(&user, 1));
  const EventId held = 1000;
  add(10, 0, std::span(&held, 1), out_of_order_);
  client_.add(ReleaseEvent{1000});
  client_.flush();
  EXPECT_EQ(value(), 0);
  signal(user);
  client_.finish(out_of_order_);
  EXPECT_EQ(value(), 11);
}

}  // namespace
}  // namespace remotecl::testing
