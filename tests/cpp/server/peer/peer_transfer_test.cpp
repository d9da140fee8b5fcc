// Bytes that travel from one server to another.
#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

class PeerTransferTest : public PeerTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  PeerTransferTest() { link(); }
  const std::uint64_t size_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Sizes, PeerTransferTest, ::testing::Values(64, kInlineDataMax, kInlineDataMax + 4, 3u << 20));

TEST_P(PeerTransferTest, ReceiveMayComeFirst) {
  const ObjectId from = filled(a_, a_queue_, size_, 11), to = b_.make_buffer(size_);
  const EventId received = receive(to, size_, 1);
  b_.ping();
  EXPECT_FALSE(b_.has_ended(received));
  const EventId sent = send(from, size_, 1);
  EXPECT_EQ(b_.event_status(received), CL_COMPLETE);
  EXPECT_EQ(a_.event_status(sent), CL_COMPLETE);
  EXPECT_EQ(last_int(b_, b_queue_, to, size_), 11);
}

TEST_P(PeerTransferTest, SendMayComeFirst) {
  const ObjectId from = filled(a_, a_queue_, size_, 12), to = b_.make_buffer(size_);
  const EventId sent = send(from, size_, 1);
  if (size_ <= kInlineDataMax) {
    EXPECT_EQ(a_.event_status(sent), CL_COMPLETE);
  }
  a_.ping();
  EXPECT_EQ(b_.event_status(receive(to, size_, 1)), CL_COMPLETE);
  EXPECT_EQ(last_int(b_, b_queue_, to, size_), 12);
}

TEST_P(PeerTransferTest, EndThatNobodyAsksForIsToldWithTheNextMessage) {
  const ObjectId from = filled(a_, a_queue_, size_, 14), to = b_.make_buffer(size_);
  const EventId received = b_.id();
  b_.send(EnqueueReceive{b_queue_, received, to, 0, 0, size_, 1, kFirst, {}});
  send(from, size_, 1);
  EXPECT_EQ(last_int(b_, b_queue_, to, size_), 14);  // in order
  EXPECT_TRUE(b_.has_ended(received));
}

TEST_P(PeerTransferTest, ReceiveThatWaitsHoldsUpNoOther) {
  const EventId gate = b_.id();
  b_.send(ExpectEvent{gate});
  const ObjectId from = filled(a_, a_queue_, size_, 13), held = b_.make_buffer(size_), free = b_.make_buffer(size_);
  a_.finish(a_queue_);  // the senders have queues of their own
  const EventId waiting = receive(held, size_, 1, std::span(&gate, 1), b_.make_queue());
  const EventId received = receive(free, size_, 2);
  send(from, size_, 1, {}, a_.make_queue());
  send(from, size_, 2, {}, a_.make_queue());
  EXPECT_EQ(b_.event_status(received), CL_COMPLETE);
  EXPECT_FALSE(b_.has_ended(waiting));
  b_.send(SignalEvent{gate, 0});
  EXPECT_EQ(b_.event_status(waiting), CL_COMPLETE);
  EXPECT_EQ(last_int(b_, b_queue_, held, size_), 13);
}

TEST_P(PeerTransferTest, SendThatFailsFailsTheReceive) {
  for (const bool receive_first : {true, false}) {
    const EventId gate = a_.id();
    a_.send(ExpectEvent{gate});
    const ObjectId from = a_.make_buffer(size_), to = b_.make_buffer(size_);
    const TransferId transfer = ++transfers_;
    const EventId sent = send(from, size_, transfer, std::span(&gate, 1));
    EventId received = 0;
    if (receive_first) {
      received = receive(to, size_, transfer);
      b_.ping();
    }
    a_.send(SignalEvent{gate, -7});
    EXPECT_EQ(a_.event_status(sent), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    if (!receive_first) received = receive(to, size_, transfer);
    EXPECT_EQ(b_.event_status(received), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  expect_usable(false);
}

TEST_P(PeerTransferTest, ReceiveThatFailsLetsTheSendEnd) {
  for (const bool send_first : {true, false}) {
    const EventId gate = b_.id();
    b_.send(ExpectEvent{gate});
    const ObjectId from = a_.make_buffer(size_), to = b_.make_buffer(size_);
    const TransferId transfer = ++transfers_;
    EventId sent = send_first ? send(from, size_, transfer) : 0;
    const EventId received = receive(to, size_, transfer, std::span(&gate, 1));
    b_.send(SignalEvent{gate, -7});
    if (!send_first) sent = send(from, size_, transfer);
    EXPECT_EQ(b_.event_status(received), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    // Small bytes have gone before anybody could know.
    EXPECT_EQ(a_.event_status(sent), size_ <= kInlineDataMax ? CL_COMPLETE : CL_OUT_OF_RESOURCES);
  }
  expect_usable(false);
}

TEST_P(PeerTransferTest, WrongObjectsAndRangesFailBothSides) {
  const ObjectId from = a_.make_buffer(size_), to = b_.make_buffer(size_);
  send(12345, size_, 1);
  EXPECT_EQ(b_.event_status(receive(to, size_, 1)), CL_INVALID_MEM_OBJECT);
  const EventId too_long = a_.id();
  a_.send(EnqueueSend{a_queue_, too_long, from, 0, 4, size_, 2, kSecond, {}});
  EXPECT_EQ(b_.event_status(receive(to, size_, 2)), CL_INVALID_VALUE);
  const EventId as_image = a_.id();
  a_.send(EnqueueSend{a_queue_, as_image, from, 1, 0, size_, 3, kSecond, {}});
  EXPECT_EQ(b_.event_status(receive(to, size_, 3)), CL_INVALID_MEM_OBJECT);
  const EventId sent = send(from, size_, 4);
  EXPECT_EQ(b_.event_status(receive(12345, size_, 4)), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(a_.event_status(sent), size_ <= kInlineDataMax ? CL_COMPLETE : CL_OUT_OF_RESOURCES);
  const EventId both = send(12345, size_, 5);
  EXPECT_EQ(a_.event_status(both), CL_INVALID_MEM_OBJECT);
  EXPECT_LT(b_.event_status(receive(12345, size_, 5)), 0);
  expect_usable(false);
}

TEST_P(PeerTransferTest, ManyInBothDirections) {
  constexpr int kCount = 24;
  std::vector<ObjectId> at_a, at_b;
  std::vector<EventId> a_done, b_done;
  for (int i = 0; i < kCount; ++i) {
    at_a.push_back(i % 2 == 0 ? filled(a_, a_queue_, size_, i) : a_.make_buffer(size_));
    at_b.push_back(i % 2 == 1 ? filled(b_, b_queue_, size_, i) : b_.make_buffer(size_));
  }
  a_.finish(a_queue_);
  b_.finish(b_queue_);
  for (int i = 0; i < kCount; ++i) {
    const TransferId transfer = ++transfers_;
    const ObjectId a_queue = a_.make_queue(), b_queue = b_.make_queue();
    if (i % 2 == 0) {
      send(at_a[i], size_, transfer, {}, a_queue);
      b_done.push_back(receive(at_b[i], size_, transfer, {}, b_queue));
    } else {
      b_.send(EnqueueSend{b_queue, 0, at_b[i], 0, 0, size_, transfer, kFirst, {}});
      a_done.push_back(a_.id());
      a_.send(EnqueueReceive{a_queue, a_done.back(), at_a[i], 0, 0, size_, transfer, kSecond, {}});
      a_.send(ObserveEvent{a_done.back()});
    }
  }
  for (const EventId event : b_done) EXPECT_EQ(b_.event_status(event), CL_COMPLETE);
  for (const EventId event : a_done) EXPECT_EQ(a_.event_status(event), CL_COMPLETE);
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(last_int(a_, a_queue_, at_a[i], size_), i);
    EXPECT_EQ(last_int(b_, b_queue_, at_b[i], size_), i);
  }
}

TEST_F(PeerTest, FloodOfSmallTransfersKeepsTheLink) {
  constexpr std::uint64_t kSize = 64u << 10;
  constexpr int kCount = 3000;  // more than a connection may have unwritten
  link();
  const ObjectId from = filled(a_, a_queue_, kSize, 15), to = b_.make_buffer(kSize);
  std::vector<EventId> received;
  for (int i = 0; i < kCount; ++i) {
    const TransferId transfer = ++transfers_;
    a_.add(EnqueueSend{a_queue_, 0, from, 0, 0, kSize, transfer, kSecond, {}});
    received.push_back(b_.id());
    b_.add(EnqueueReceive{b_queue_, received.back(), to, 0, 0, kSize, transfer, kFirst, {}});
  }
  a_.ping();
  b_.finish(b_queue_);
  EXPECT_EQ(last_int(b_, b_queue_, to, kSize), 15);
  for (const EventId event : received) ASSERT_EQ(b_.event_status(event), CL_COMPLETE);
}

TEST_P(PeerTransferTest, CommandsAfterTheReceiveSeeItsBytes) {
  const ObjectId from = filled(a_, a_queue_, size_, 14), to = b_.make_buffer(size_);
  receive(to, size_, 1);
  const TransferId read = b_.id();
  b_.send(EnqueueRead{b_queue_, b_.id(), to, size_ - 4, 4, read, {}});
  b_.ping();
  EXPECT_FALSE(b_.has<ReadData>());
  send(from, size_, 1);
  int value = 0;
  std::memcpy(&value, b_.wait<ReadData>()->data.data(), 4);
  EXPECT_EQ(value, 14);
}

}  // namespace
}  // namespace remotecl::testing
