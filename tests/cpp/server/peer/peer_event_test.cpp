// Events whose end one server reports to another.
#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

class PeerEventTest : public PeerTest {
 protected:
  PeerEventTest() { link(); }
  EventId expect() {
    const EventId event = ++events_;
    b_.send(ExpectEvent{event, kFirst});
    b_.send(ObserveEvent{event});
    return event;
  }
  void forward(EventId event) { a_.send(ForwardEvent{event, kSecond}); }
  void marker(EventId event, std::span<const EventId> waits = {}) {
    a_.send(EnqueueMarker{a_queue_, event, 0, 0, waits});
  }
  EventId events_ = 1'000'000;  // ids are one client's, on both servers
};

TEST_F(PeerEventTest, EndedBeforeItIsForwarded) {
  const EventId event = expect();
  marker(event);
  a_.finish(a_queue_);
  forward(event);
  EXPECT_EQ(b_.event_status(event), CL_COMPLETE);
}

TEST_F(PeerEventTest, ReleasedBeforeItIsForwarded) {
  const EventId event = expect();
  forward(event);  // never heard of, or forgotten: ended well
  EXPECT_EQ(b_.event_status(event), CL_COMPLETE);
}

TEST_F(PeerEventTest, OfACommandThatIsHeld) {
  const EventId event = expect(), gate = a_.id();
  a_.send(ExpectEvent{gate});
  marker(event, std::span(&gate, 1));
  forward(event);
  forward(event);  // once more changes nothing
  a_.ping();
  b_.ping();
  EXPECT_FALSE(b_.has_ended(event));
  a_.send(SignalEvent{gate, 0});
  EXPECT_EQ(b_.event_status(event), CL_COMPLETE);
}

TEST_F(PeerEventTest, OfACommandThatFails) {
  for (const bool late : {false, true}) {
    const EventId event = expect(), gate = a_.id();
    a_.send(ExpectEvent{gate});
    marker(event, std::span(&gate, 1));
    if (!late) forward(event);
    a_.send(SignalEvent{gate, -3});
    if (late) forward(event);
    EXPECT_EQ(b_.event_status(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
}

TEST_F(PeerEventTest, OfAnEventThatTheClientSignals) {
  const EventId event = expect();
  a_.send(ExpectEvent{event});
  forward(event);
  a_.send(SignalEvent{event, -9});
  EXPECT_EQ(b_.event_status(event), -9);
}

TEST_F(PeerEventTest, SignalMayComeBeforeItIsExpected) {
  std::vector<EventId> events;
  for (int i = 0; i < 200; ++i) {  // more than one acknowledgement's worth
    events.push_back(++events_);
    a_.send(ExpectEvent{events.back()});
    forward(events.back());
    a_.send(SignalEvent{events.back(), i % 2 == 0 ? 0 : -i});
  }
  // Taken when a transfer that follows on the same connection is there.
  const TransferId transfer = ++transfers_;
  send(filled(a_, a_queue_, 64, 1), 64, transfer);
  EXPECT_EQ(b_.event_status(receive(b_.make_buffer(64), 64, transfer)), CL_COMPLETE);
  for (int i = 0; i < 200; ++i) {
    b_.send(ExpectEvent{events[i], kFirst});
    b_.send(ObserveEvent{events[i]});
    EXPECT_EQ(b_.event_status(events[i]), i % 2 == 0 ? 0 : -i);
  }
}

TEST_F(PeerEventTest, ReleasedBeforeTheSignalStillLetsDependentsRun) {
  const EventId event = ++events_, gate = a_.id(), dependent = b_.id();
  b_.send(ExpectEvent{event, kFirst});
  b_.send(EnqueueMarker{b_queue_, dependent, 0, 0, Array<EventId>(&event, 1)});
  b_.send(ObserveEvent{dependent});
  b_.send(ReleaseEvent{event});
  a_.send(ExpectEvent{gate});
  marker(event, std::span(&gate, 1));
  forward(event);
  b_.ping();
  EXPECT_FALSE(b_.has_ended(dependent));
  a_.send(SignalEvent{gate, 0});
  EXPECT_EQ(b_.event_status(dependent), CL_COMPLETE);
}

TEST_F(PeerEventTest, ChainAcrossBothServers) {
  // Each link of the chain waits for the one before, on the other server.

  constexpr int kLength = 100;
  const EventId gate = ++events_;
  a_.send(ExpectEvent{gate});
  EventId last = gate;
  for (int i = 0; i < kLength; ++i) {
    WireClient& here = i % 2 == 0 ? a_ : b_;
    WireClient& next = i % 2 == 0 ? b_ : a_;
    const EventId event = ++events_;
    here.send(EnqueueMarker{i % 2 == 0 ? a_queue_ : b_queue_, event, 0, 0, Array<EventId>(&last, 1)});
    next.send(ExpectEvent{event, i % 2 == 0 ? kFirst : kSecond});
    here.send(ForwardEvent{event, i % 2 == 0 ? kSecond : kFirst});
    last = event;
  }
  a_.send(ObserveEvent{last});  // the hundredth ran on b
  a_.ping();
  EXPECT_FALSE(a_.has_ended(last));
  a_.send(SignalEvent{gate, 0});
  EXPECT_EQ(a_.event_status(last), CL_COMPLETE);
}

}  // namespace
}  // namespace remotecl::testing
