// What a daemon tells of commands that are traced.
#include "fixture.h"
#include "runtime/base/host_time.h"
#include "server/execution/trace_span.h"

namespace remotecl::testing {
namespace {

class TraceTest : public CommandTest {
 protected:
  CommandTraced traced(std::uint64_t number) {
    return client_.wait<CommandTraced>([number](const CommandTraced& one) { return one.number == number; }).message;
  }
};

TEST_F(TraceTest, CommandWithoutAnEventTellsItsTimes) {
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

TEST_F(TraceTest, ProfiledCommandTellsTheDevicesTimes) {
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

TEST_F(TraceTest, TransfersTell) {
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
  EXPECT_LE(read.submitted_ns, read.ended_ns);
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

class TracedSpanTest : public TraceTest {
 protected:
  // So many in one batch, traced; the reports of all.
  std::vector<CommandTraced> flood(ObjectId queue, int count) {
    for (int i = 0; i < count; ++i) {
      client_.trace_next();
      add(1, 0, {}, queue);
    }
    client_.add(FlushTrace{});
    client_.flush();
    std::vector<CommandTraced> reports;
    for (int told = 0; told < count; told += 1 + static_cast<int>(reports.back().others)) {
      reports.push_back(client_.wait<CommandTraced>().message);
    }
    return reports;
  }
};

TEST_F(TracedSpanTest, QuickKernelsAreToldOfTogether) {
  const ObjectId unordered = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  for (const ObjectId queue : {queue_, unordered}) {
    std::size_t fewest = ~std::size_t{0};
    for (int attempt = 0; attempt < 20 && fewest > 100; ++attempt) {  // until nothing else has slowed them down
      const auto reports = flood(queue, 400);
      fewest = std::min(fewest, reports.size());
      for (const CommandTraced& report : reports) {
        EXPECT_LT(report.others, server::TraceSpan::kCommandsMax);
        EXPECT_LE(report.received_ns, report.submitted_ns);
        EXPECT_LE(report.submitted_ns, report.ended_ns);
        EXPECT_EQ(report.status, CL_COMPLETE);
      }
    }
    if (fewest > 100) GTEST_SKIP() << "this machine is too slow for a kernel to be quick";
  }
}

TEST_F(TracedSpanTest, OtherCommandsAreToldOfByThemselves) {
  flood(queue_, 400);
  for (int i = 0; i < 50; ++i) {
    client_.trace_next();
    add(1);
    client_.trace_next();
    client_.add(EnqueueFill{queue_, 0, buffer_, 0, 4, std::as_bytes(std::span("four", 4)), {}});
  }
  client_.add(FlushTrace{});
  client_.flush();
  for (int told = 0; told < 100; ++told) EXPECT_EQ(client_.wait<CommandTraced>()->others, 0u);
}

TEST_F(TracedSpanTest, FailedCommandsHaveNoPartInASpan) {
  flood(queue_, 400);
  std::vector<std::uint64_t> failing;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t number = client_.trace_next();
    if (i % 20 == 10) {
      client_.add(EnqueueKernel{queue_, 0, 4711, 1, 0, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {}, {}});
      failing.push_back(number);
    } else {
      add(1);
    }
  }
  client_.add(FlushTrace{});
  client_.flush();
  for (int told = 0; told < 60;) {
    const auto report = client_.wait<CommandTraced>();
    told += 1 + static_cast<int>(report->others);
    const bool fails = std::find(failing.begin(), failing.end(), report->number) != failing.end();
    EXPECT_EQ(report->status, fails ? CL_INVALID_KERNEL : CL_COMPLETE);
    if (fails) {
      EXPECT_EQ(report->others, 0u);
    }
    for (const std::uint64_t number : failing) {
      EXPECT_FALSE(number < report->number && report->number - report->others <= number) << "in the midst of a span";
    }
  }
}

TEST_F(TraceTest, OnlyCommandsCanBeTraced) {
  client_.trace_next();
  client_.send(Ping{1});
  EXPECT_NE(client_.wait<SessionError>()->text.find("no command asks for its times"), std::string::npos);
}

TEST_F(TraceTest, ServerTellsItsOwnClock) {
  const std::uint64_t before = host_time_ns();
  client_.send(ReadClock{kServerClock, 5});
  const auto clock = client_.wait<Clock>();
  EXPECT_EQ(clock->error, CL_SUCCESS);
  EXPECT_LE(before, clock->time_ns);
  EXPECT_LE(clock->time_ns, host_time_ns());
}

}  // namespace
}  // namespace remotecl::testing
