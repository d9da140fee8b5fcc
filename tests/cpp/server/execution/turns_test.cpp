// A session waits for its turn on a device that others use, too.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class TurnsTest : public CommandTest {
 protected:
  TurnsTest() {
    spin_ = client_.make_kernel(program_, "spin");
    other_session_.make_queue();
    other_session_.ping();
  }
  void spin(int rounds, EventId event = 0) {
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
    client_.enqueue(queue_, spin_, 1, arguments, event, {});
  }
  int value() { return client_.read<int>(queue_, buffer_, 1)[0]; }

  WireClient other_session_{address()};
  ObjectId spin_ = 0;
};

TEST_F(TurnsTest, SessionIsReadFromMeanwhile) {
  const EventId first = 1000;
  spin(1'000'000'000, first);
  for (int i = 0; i < 200; ++i) add(1);
  client_.flush();
  client_.ping();
  client_.add(ObserveEvent{first});
  client_.flush();
  EXPECT_FALSE(client_.has<EventDone>());
  client_.finish(queue_);
  client_.wait<EventDone>([first](const EventDone& done) { return done.event == first; });
}

TEST_F(TurnsTest, CommandsKeepTheirOrder) {
  const ObjectId out_of_order = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EventId last = 2000;
  add(0, last);
  for (int i = 0; i < 1000; ++i) {
    // In any other order the last value differs.
    client_.write<int>(queue_, buffer_, std::vector<int>(1, i), 0);
    add(i, ++last);
    add(1, last + 1, std::span(&last, 1), out_of_order);
    ++last;
    client_.add(EnqueueMarker{queue_, 0, 0, 0, Array<EventId>(&last, 1)});
  }
  client_.finish(queue_);
  EXPECT_EQ(value(), 999 + 999 + 1);
}

TEST_F(TurnsTest, MoreCommandsThanAreHeldAtATime) {
  for (int i = 0; i < 5000; ++i) add(1);
  EXPECT_EQ(value(), 5000);
}

TEST_F(TurnsTest, UserEventsOfHeldCommandsArrive) {
  const EventId user = client_.id();
  client_.add(ExpectEvent{user});
  add(1, 0, std::span(&user, 1));
  const ObjectId other = client_.make_queue();
  for (int i = 0; i < 400; ++i) add(1, 0, {}, other);
  client_.send(SignalEvent{user, CL_COMPLETE});
  client_.finish(other);
  EXPECT_EQ(value(), 401);
}

TEST_F(TurnsTest, SessionEndsWhileItsCommandsAreHeld) {
  spin(300'000'000);
  for (int i = 0; i < 200; ++i) add(1);
  client_.flush();
  client_.ping();
  client_.control().shutdown();
  EXPECT_TRUE(eventually([this] { return server_.sessions() == 1; }));
  EXPECT_NO_THROW(other_session_.ping());
}

}  // namespace
}  // namespace remotecl::testing
