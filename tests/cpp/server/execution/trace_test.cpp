// What a daemon reports of commands that are traced.
#include <map>
#include <set>

#include "runtime/base/host_time.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class TraceTest : public CommandTest {
 protected:
  CommandTraced traced(std::uint64_t number) {
    return client_.wait<CommandTraced>([number](const CommandTraced& one) { return one.number == number; }).message;
  }
};

TEST_F(TraceTest, CommandWithoutAnEventReportsItsTimes) {
  const std::uint64_t before = host_time_ns();
  client_.trace_next();
  add(5);
  client_.add(FlushTrace{});
  client_.flush();
  const CommandTraced times = traced(1);
  EXPECT_EQ(times.status, CL_COMPLETE);
  EXPECT_EQ(times.has_profile, 0u);
  EXPECT_LE(before, times.received_ns);
  EXPECT_LE(times.received_ns, times.submitted_ns);
  EXPECT_LE(times.submitted_ns, times.ended_ns);
  EXPECT_LE(times.ended_ns, host_time_ns());
  // The next command is not traced, and nobody hears of an event 0.
  add(7);
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 1)[0], 12);
  client_.ping();
  EXPECT_FALSE(client_.has<CommandTraced>());
  EXPECT_FALSE(client_.has_ended(0));
}

TEST_F(TraceTest, ProfiledCommandReportsTheDevicesTimes) {
  const ObjectId profiled = client_.make_queue(CL_QUEUE_PROFILING_ENABLE);
  client_.trace_next();
  add(5, 1000, {}, profiled);
  client_.add(ObserveEvent{1000});
  client_.add(FlushTrace{});
  client_.flush();
  const CommandTraced times = traced(1);
  const auto done = client_.wait<EventDone>();
  EXPECT_EQ(times.has_profile, 1u);
  EXPECT_EQ(times.start_ns, done->profile[2]);
  EXPECT_EQ(times.end_ns, done->profile[3]);
}

TEST_F(TraceTest, HeldCommandIsSubmittedWhenItIsReleased) {
  client_.add(ExpectEvent{900});
  const EventId user = 900;
  client_.trace_next();
  add(1, 1000, std::span(&user, 1));
  client_.trace_next();
  add(1);  // held by its queue
  client_.add(FlushTrace{});
  client_.flush();
  client_.ping();
  EXPECT_FALSE(client_.has<CommandTraced>());
  const std::uint64_t released = host_time_ns();
  client_.send(SignalEvent{user, CL_COMPLETE});
  for (const std::uint64_t record : {1, 2}) {
    const CommandTraced times = traced(record);
    EXPECT_LE(times.received_ns, released);
    EXPECT_LE(released, times.submitted_ns);
  }
}

TEST_F(TraceTest, FailedCommandsSaySo) {
  client_.trace_next();
  client_.add(EnqueueCopy{queue_, 0, buffer_, 777, 0, 0, 4, {}});  // refused
  client_.add(ExpectEvent{900});
  client_.trace_next();
  const EventId user = 900;
  add(1, 1000, std::span(&user, 1));
  client_.add(SignalEvent{user, -5});
  client_.add(FlushTrace{});
  client_.flush();
  EXPECT_EQ(traced(1).status, CL_INVALID_MEM_OBJECT);
  const CommandTraced failed = traced(2);
  EXPECT_EQ(failed.status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_NE(failed.ended_ns, 0u);
}

TEST_F(TraceTest, TransfersReportTheirTimes) {
  constexpr std::size_t kSize = 1u << 20;
  const ObjectId buffer = client_.make_buffer(kSize);
  client_.trace_next();
  const std::vector<std::byte> bytes(32, std::byte{3});
  client_.add(EnqueueWrite{queue_, 0, buffer, 0, 32, 0, bytes, {}});
  client_.trace_next();
  const TransferId transfer = client_.id();
  client_.add(EnqueueRead{queue_, 0, buffer, 0, 32, transfer, {}});
  client_.add(FlushTrace{});
  client_.flush();
  client_.wait<ReadData>();
  EXPECT_EQ(traced(1).status, CL_COMPLETE);
  const CommandTraced read = traced(2);
  EXPECT_EQ(read.status, CL_COMPLETE);
  EXPECT_EQ(read.transport, 0u) << "the bytes came with the command";
  EXPECT_LE(read.submitted_ns, read.ended_ns);
}

// Pulled, pushed before its command can begin, and read.
TEST_F(TraceTest, BulkTransfersSayWhatCarriedThem) {
  constexpr std::size_t kSize = kPushMax;
  const std::vector<std::byte> bytes(kSize, std::byte{3});
  const ObjectId buffer = client_.make_buffer(kSize);
  client_.bulk();
  const TransferId pulled = client_.id(), pushed = client_.id(), read = client_.id();
  const EventId user = client_.id();
  client_.add(ExpectEvent{user});
  client_.trace_next();
  client_.send(EnqueueWrite{queue_, 0, buffer, 0, kSize, pulled, {}, {}});
  client_.wait<PullTransfer>();
  client_.send_bulk(pulled, bytes);
  client_.trace_next();
  client_.send(EnqueueWrite{queue_, 0, buffer, 0, kSize, pushed, {}, std::span(&user, 1), 1});
  client_.push_bulk(pushed, bytes);
  client_.send(SignalEvent{user, CL_COMPLETE});
  client_.trace_next();
  client_.add(EnqueueRead{queue_, 0, buffer, 0, kSize, read, {}});
  client_.add(FlushTrace{});
  client_.flush();
  EXPECT_EQ(client_.receive_bulk(read, kSize), bytes);
  for (const std::uint64_t number : {1, 2, 3}) {
    EXPECT_EQ(traced(number).transport, static_cast<std::uint32_t>(TransportKind::kTcp)) << number;
  }
}

TEST_F(TraceTest, TimesOfFewCommandsWaitForOtherMessages) {
  client_.trace_next();
  add(1, 1000);
  client_.add(ObserveEvent{1000});
  client_.flush();
  EXPECT_EQ(client_.event_status(1000), CL_COMPLETE);
  client_.send(FlushTrace{});
  EXPECT_EQ(traced(1).status, CL_COMPLETE);
}

// Each kernel has times of its own, however quick it is and however many follow one another.
TEST_F(TraceTest, EachOfManyQuickKernelsIsReported) {
  constexpr int kCount = 400;
  for (const ObjectId queue : {queue_, client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)}) {
    std::set<std::uint64_t> numbers;
    for (int i = 0; i < kCount; ++i) {
      numbers.insert(client_.trace_next());
      add(1, 0, {}, queue);
    }
    client_.add(FlushTrace{});
    client_.flush();
    for (int i = 0; i < kCount; ++i) {
      const auto report = client_.wait<CommandTraced>();
      EXPECT_EQ(numbers.erase(report->number), 1u);
      EXPECT_LE(report->received_ns, report->submitted_ns);
      EXPECT_LE(report->submitted_ns, report->ended_ns);
      EXPECT_EQ(report->status, CL_COMPLETE);
    }
  }
}

// In order, none ends before the one before it.
TEST_F(TraceTest, EndsOfAnInOrderQueueComeInOrder) {
  std::map<std::uint64_t, std::uint64_t> ends;
  for (int i = 0; i < 100; ++i) {
    client_.trace_next();
    add(1);
  }
  client_.add(FlushTrace{});
  client_.flush();
  for (int i = 0; i < 100; ++i) {
    const auto report = client_.wait<CommandTraced>();
    ends[report->number] = report->ended_ns;
  }
  std::uint64_t last = 0;
  for (const auto& [number, ended_ns] : ends) {
    EXPECT_LE(last, ended_ns) << number;
    last = ended_ns;
  }
}

TEST_F(TraceTest, OnlyCommandsCanBeTraced) {
  client_.trace_next();
  client_.send(Ping{1});
  EXPECT_NE(client_.wait<SessionError>()->text.find("no command asks for its times"), std::string::npos);
}

TEST_F(TraceTest, ServerReportsItsOwnClock) {
  const std::uint64_t before = host_time_ns();
  client_.send(ReadClock{kServerClock, 5});
  const auto clock = client_.wait<Clock>();
  EXPECT_EQ(clock->error, CL_SUCCESS);
  EXPECT_LE(before, clock->time_ns);
  EXPECT_LE(clock->time_ns, host_time_ns());
}

}  // namespace
}  // namespace remotecl::testing
