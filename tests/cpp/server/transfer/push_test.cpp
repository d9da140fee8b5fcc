// Writes whose bytes come without being pulled.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

// With the parameter, bulk data passes through staging as for a GPU.
class PushTest : public CommandTest, public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr std::size_t kSize = kPushMax;

  PushTest() {
    if (GetParam()) server_.driver().device(0)->memory().stage_always();
    client_.bulk();
  }
  struct Push {
    TransferId transfer;
    EventId event;
  };
  Push announce(ObjectId queue, ObjectId buffer, std::size_t size = kSize, std::span<const EventId> waits = {}) {
    const Push push{client_.id(), client_.id()};
    client_.send(EnqueueWrite{queue, push.event, buffer, 0, size, push.transfer, {}, waits, 1});
    return push;
  }
  EventId expect_event() {
    const EventId event = client_.id();
    client_.send(ExpectEvent{event});
    return event;
  }
  std::vector<std::byte> contents(ObjectId queue, ObjectId buffer) {
    const TransferId transfer = client_.id();
    client_.send(EnqueueRead{queue, client_.id(), buffer, 0, kSize, transfer, {}});
    return client_.receive_bulk(transfer, kSize);
  }

  static std::vector<std::byte> bytes_of(int value) {
    return std::vector<std::byte>(kSize, static_cast<std::byte>(value));
  }
};

TEST_P(PushTest, IsNotPulled) {
  const ObjectId buffer = client_.make_buffer(kSize);
  const Push push = announce(queue_, buffer);
  client_.push_bulk(push.transfer, bytes_of(1));
  EXPECT_EQ(client_.event_status(push.event), CL_COMPLETE);
  EXPECT_FALSE(client_.has<PullTransfer>());
  EXPECT_EQ(contents(queue_, buffer), bytes_of(1));
}

TEST_P(PushTest, BytesMayComeBeforeTheirCommand) {
  const ObjectId buffer = client_.make_buffer(kSize);
  const Push push{client_.id(), client_.id()};
  client_.push_bulk(push.transfer, bytes_of(2));
  client_.ping();
  client_.send(EnqueueWrite{queue_, push.event, buffer, 0, kSize, push.transfer, {}, {}, 1});
  EXPECT_EQ(client_.event_status(push.event), CL_COMPLETE);
  EXPECT_EQ(contents(queue_, buffer), bytes_of(2));
}

TEST_P(PushTest, OneThatWaitsHoldsUpNoOther) {
  const ObjectId held = client_.make_buffer(kSize), free = client_.make_buffer(kSize), other = client_.make_queue();
  const EventId user = expect_event();
  const Push first = announce(queue_, held, kSize, std::span(&user, 1));
  client_.push_bulk(first.transfer, bytes_of(3));
  const Push second = announce(other, free);
  client_.push_bulk(second.transfer, bytes_of(4));
  EXPECT_EQ(client_.event_status(second.event), CL_COMPLETE);
  EXPECT_FALSE(client_.has_ended(first.event));
  client_.send(SignalEvent{user, CL_COMPLETE});
  EXPECT_EQ(client_.event_status(first.event), CL_COMPLETE);
  EXPECT_EQ(contents(queue_, held), bytes_of(3));
  EXPECT_EQ(contents(other, free), bytes_of(4));
}

TEST_P(PushTest, OneWhoseCommandIsLateHoldsUpNoOther) {
  const ObjectId late = client_.make_buffer(kSize), buffer = client_.make_buffer(kSize);
  const Push first{client_.id(), client_.id()};
  client_.push_bulk(first.transfer, bytes_of(3));
  const Push second = announce(queue_, buffer);
  client_.push_bulk(second.transfer, bytes_of(4));
  EXPECT_EQ(client_.event_status(second.event), CL_COMPLETE);
  client_.send(EnqueueWrite{queue_, first.event, late, 0, kSize, first.transfer, {}, {}, 1});
  EXPECT_EQ(client_.event_status(first.event), CL_COMPLETE);
  EXPECT_EQ(contents(queue_, late), bytes_of(3));
  EXPECT_EQ(contents(queue_, buffer), bytes_of(4));
}

TEST_P(PushTest, BytesThatWereAnnouncedInAnotherSizeEndTheSession) {
  const Push push{client_.id(), client_.id()};
  client_.push_bulk(push.transfer, bytes_of(7));
  const Push other = announce(queue_, client_.make_buffer(kSize));  // the bytes before these have been read
  client_.push_bulk(other.transfer, bytes_of(8));
  EXPECT_EQ(client_.event_status(other.event), CL_COMPLETE);
  client_.send(EnqueueWrite{queue_, push.event, 0, 0, kSize / 2, push.transfer, {}, {}, 1});
  expect_session_error(client_, "not in this size");
}

// They would be read as those of the larger one.
TEST_P(PushTest, BytesWithoutACommandAreNotThoseOfAPulledWrite) {
  const TransferId transfer = client_.id();
  client_.push_bulk(transfer, Bytes(bytes_of(7)).first(100));
  const Push other = announce(queue_, client_.make_buffer(kSize));
  client_.push_bulk(other.transfer, bytes_of(8));
  EXPECT_EQ(client_.event_status(other.event), CL_COMPLETE);
  client_.send(EnqueueWrite{queue_, client_.id(), client_.make_buffer(kSize), 0, kSize, transfer, {}, {}});
  expect_session_error(client_, "in use");
}

TEST_P(PushTest, MoreBytesWithoutACommandThanAreAllowedEndTheSession) {
  for (std::uint64_t bytes = 0; bytes < kPushedBytesMax; bytes += kSize) {
    client_.push_bulk(client_.id(), bytes_of(1));
  }
  const BulkHeader header{client_.id(), 1, kPushedChunk};
  ASSERT_TRUE(client_.bulk().write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(header))));
  expect_session_error(client_, "too much");
}

// Before the bytes come, or after.
TEST_P(PushTest, BytesOfOneThatFailsAreThrownAway) {
  const ObjectId buffer = client_.make_buffer(kSize);
  for (const bool is_early : {false, true}) {
    const EventId user = expect_event();
    const Push push = announce(queue_, buffer, kSize, std::span(&user, 1));
    if (is_early) client_.push_bulk(push.transfer, bytes_of(5));
    client_.send(SignalEvent{user, -1});
    EXPECT_EQ(client_.event_status(push.event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    if (!is_early) client_.push_bulk(push.transfer, bytes_of(5));
  }
  const Push wrong = announce(queue_, 4711);
  client_.push_bulk(wrong.transfer, bytes_of(5));
  EXPECT_EQ(client_.event_status(wrong.event), CL_INVALID_MEM_OBJECT);
  const Push right = announce(queue_, buffer);
  client_.push_bulk(right.transfer, bytes_of(6));
  EXPECT_EQ(contents(queue_, buffer), bytes_of(6));
}

TEST_P(PushTest, ClientIsToldThatItMayPushMore) {
  const ObjectId buffer = client_.make_buffer(kSize);
  std::uint64_t pushed = 0, taken = 0;
  for (int i = 0; i < 20; ++i) {
    while (pushed + kSize - taken > kPushedBytesMax) taken = client_.wait<PushesTaken>()->bytes;
    const Push push = announce(queue_, buffer);
    client_.push_bulk(push.transfer, bytes_of(i));
    pushed += kSize;
  }
  EXPECT_EQ(contents(queue_, buffer), bytes_of(19));
}

TEST_P(PushTest, MoreThanIsAllowedEndsTheSession) {
  const ObjectId buffer = client_.make_buffer(kSize);
  const EventId user = expect_event();
  for (std::uint64_t bytes = 0; bytes <= kPushedBytesMax; bytes += kSize) {
    announce(queue_, buffer, kSize, std::span(&user, 1));
  }
  expect_session_error(client_, "too much");
}

TEST_P(PushTest, LargerThanIsAllowedEndsTheSession) {
  announce(queue_, client_.make_buffer(2 * kSize), kSize + 1);
  expect_session_error(client_, "too much");
}

TEST_P(PushTest, AnotherSizeThanAnnouncedEndsTheSession) {
  const Push push = announce(queue_, client_.make_buffer(kSize));
  // The header alone: the server does not wait for the bytes, which might find the connection closed.
  const BulkHeader header{push.transfer, kSize / 2, kPushedChunk};
  ASSERT_TRUE(client_.bulk().write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(header))));
  expect_session_error(client_, "not in this size");
}

TEST_P(PushTest, SessionEndsWhileBytesWaitForTheirCommand) {
  client_.push_bulk(client_.id(), bytes_of(7));
  client_.control().shutdown();
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Routes, PushTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Staged" : "InPlace"; });

}  // namespace
}  // namespace remotecl::testing
