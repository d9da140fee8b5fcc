// Dependencies between two devices of one daemon, of which each has a native context of its own.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (client_.device_list().devices.size() < 2) GTEST_SKIP() << "the driver offers one device only";
    const std::uint32_t devices[] = {0, 1};
    client_.add(CreateProgramWithSource{program_, as_bytes(kAddSource)});
    client_.send(BuildProgram{program_, 1, Array<std::uint32_t>(devices, 2), {}, {}, {}});
    const auto done = client_.wait<BuildDone>();
    ASSERT_EQ(done->builds.size(), 2u);
    done->builds.for_each([](const DeviceBuild& build) { ASSERT_EQ(build.error, 0) << build.log; });
    add_ = client_.make_kernel(program_, "add");
    spin_ = client_.make_kernel(program_, "spin");
    for (const ObjectId queue : {first_, second_}) client_.write<int>(queue, buffer_, std::vector<int>(16, 0));
  }
  void spin(ObjectId queue, EventId event, std::span<const EventId> waits = {}) {
    const int rounds = 30'000'000;
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
    client_.enqueue(queue, spin_, 1, arguments, event, waits);
  }
  void add(ObjectId queue, int value, EventId event, std::span<const EventId> waits = {}) {
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, value)};
    client_.enqueue(queue, add_, 16, arguments, event, waits);
  }

  server::Server server_{Address{"127.0.0.1", 0}, "all"};
  WireClient client_{server_.address()};
  const ObjectId program_ = client_.id();
  const ObjectId first_ = client_.make_queue(0, 0), second_ = client_.make_queue(0, 1);
  const ObjectId buffer_ = client_.make_buffer(64);
  ObjectId add_ = 0, spin_ = 0;
};

TEST_F(DevicesTest, BufferHasMemoryOfItsOwnOnEach) {
  add(first_, 1, 0);
  add(second_, 2, 0);
  EXPECT_EQ(client_.read<int>(first_, buffer_, 1)[0], 1);
  EXPECT_EQ(client_.read<int>(second_, buffer_, 1)[0], 2);
}

TEST_F(DevicesTest, CommandWaitsForAnotherDevice) {
  const EventId slow = 1000, after = 1001;
  spin(first_, slow);
  add(second_, 1, after, std::span(&slow, 1));
  client_.add(ObserveEvent{slow});
  client_.add(ObserveEvent{after});
  client_.flush();
  client_.wait<EventDone>([&](const EventDone& done) {
    EXPECT_EQ(done.event == after && !client_.has_ended(slow), false) << "it did not wait";
    return done.event == after;
  });
  EXPECT_TRUE(client_.has_ended(slow));
}

TEST_F(DevicesTest, ChainBackAndForth) {
  EventId last = 0;
  for (int i = 0; i < 1000; ++i) {
    const EventId event = 1000 + static_cast<EventId>(i);
    add(i % 2 == 0 ? first_ : second_, 1, event,
        last != 0 ? std::span<const EventId>(&last, 1) : std::span<const EventId>{});
    if (last != 0) client_.add(ReleaseEvent{last});
    last = event;
  }
  client_.send(ObserveEvent{last});
  EXPECT_EQ(client_.event_status(last), CL_COMPLETE);
  EXPECT_EQ(client_.read<int>(first_, buffer_, 1)[0], 500);
  EXPECT_EQ(client_.read<int>(second_, buffer_, 1)[0], 500);
}

TEST_F(DevicesTest, HeldCommandOfOneHoldsTheOther) {
  const EventId user = 1000, first = 1001, second = 1002;
  client_.add(ExpectEvent{user});
  add(first_, 1, first, std::span(&user, 1));
  add(second_, 1, second, std::span(&first, 1));
  client_.send(ObserveEvent{second});
  client_.ping();
  EXPECT_FALSE(client_.has_ended(second));
  client_.send(SignalEvent{user, CL_COMPLETE});
  EXPECT_EQ(client_.event_status(second), CL_COMPLETE);
}

TEST_F(DevicesTest, FailureCrossesDevices) {
  const EventId user = 1000, first = 1001, second = 1002;
  client_.add(ExpectEvent{user});
  add(first_, 1, first, std::span(&user, 1));
  add(second_, 1, second, std::span(&first, 1));
  client_.add(ObserveEvent{second});
  client_.send(SignalEvent{user, -9});
  EXPECT_EQ(client_.event_status(second), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

}  // namespace
}  // namespace remotecl::testing
