// How the times of a trace are put in order, from what servers and devices have reported.
#include <gtest/gtest.h>

#include "runtime/client/trace/trace.h"

namespace remotecl {
namespace {

// A record of one queue with the clock of the host, in the order of the calls.
struct TraceBuilder {
  TraceBuilder() { trace.lanes.resize(1); }

  TraceRecord& add(std::uint64_t queued, std::uint64_t submitted, std::uint64_t ended) {
    TraceRecordOwner record(new TraceRecord);
    record->lane = 0;
    record->queue.handle = record->queue.id = 1;
    record->position = trace.records.size() + 1;
    record->event = 100 + trace.records.size();
    record->queued_ns = queued;
    record->status = CL_COMPLETE;
    record->times.received = record->times.submitted = submitted;
    record->times.ended = ended;
    record->times.reported = true;
    trace.records.push_back(std::move(record));
    return *trace.records.back();
  }
  TraceRecord& profiled(std::uint64_t queued, std::uint64_t submitted, std::uint64_t start, std::uint64_t end) {
    TraceRecord& record = add(queued, submitted, end + 50);
    record.times.has_profile = true;
    record.times.start = start;
    record.times.end = end;
    return record;
  }

  Trace trace;
};

TEST(TimedRecordsTest, StartsWhenTheOneBeforeInItsQueueHasEnded) {
  TraceBuilder builder;
  builder.add(10, 20, 100).queue.in_order = true;
  builder.add(11, 21, 200).queue.in_order = true;
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].start, 20u);
  EXPECT_EQ(timed[0].end, 100u);
  EXPECT_EQ(timed[1].start, 100u);
  EXPECT_EQ(timed[1].end, 200u);
  EXPECT_FALSE(timed[1].is_profiled);
}

TEST(TimedRecordsTest, OutOfOrderOnlyEventsCount) {
  TraceBuilder builder;
  builder.add(10, 20, 100);
  builder.add(11, 21, 200);
  builder.add(12, 22, 300).waits_for(builder.trace.records[1]->event);
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[1].start, 21u);
  EXPECT_EQ(timed[2].start, 200u);
  EXPECT_EQ(timed[2].waits_for, std::vector<std::uint32_t>{1});
}

TEST(TimedRecordsTest, AnEndThatWasNoticedLateIsBeforeWhatWaitedForIt) {
  TraceBuilder builder;
  builder.add(10, 20, 900);
  builder.profiled(11, 21, 150, 250).waits_for(1, 1);  // the first command of queue 1
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].end, 150u);
  EXPECT_EQ(timed[1].start, 150u);
  EXPECT_EQ(timed[1].end, 250u);
  EXPECT_TRUE(timed[1].is_profiled);
}

TEST(TimedRecordsTest, AnEndThatWasNoticedLateIsBeforeItsBytesWereHere) {
  TraceBuilder builder;
  builder.add(10, 20, 800).queue.in_order = true;
  TraceRecord& read = builder.add(11, 21, 900);
  read.queue.in_order = true;
  read.arrived_ns = 700;
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].end, 700u);
  EXPECT_EQ(timed[1].start, 700u);
  EXPECT_EQ(timed[1].end, 700u);
}

TEST(TimedRecordsTest, AFailedCommandProvesNothing) {
  TraceBuilder builder;
  builder.add(10, 20, 900).queue.in_order = true;
  TraceRecord& failed = builder.add(11, 0, 30);
  failed.queue.in_order = true;
  failed.status = CL_INVALID_KERNEL_ARGS;
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].end, 900u);
  EXPECT_EQ(timed[1].end, 30u);
  EXPECT_EQ(timed[1].submit, 0u);
}

TEST(TimedRecordsTest, WhatHasNotEndedHasNoEnd) {
  TraceBuilder builder;
  TraceRecord& pending = builder.add(10, 20, 0);
  pending.times = {};
  pending.status = CL_QUEUED;
  builder.add(11, 21, 30).waits_for(pending.event);
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].end, 0u);
  EXPECT_EQ(timed[0].submit, 0u);
  EXPECT_EQ(timed[1].start, 21u);
}

TEST(TimedRecordsTest, ATransferBeginsWhereItIsSent) {
  TraceBuilder builder;
  builder.trace.lanes.resize(2);
  builder.trace.lanes[1].server_clock = ClockLine({0, 1000});
  TraceRecord& transfer = builder.add(10, 25, 400);
  transfer.move = {.from_lane = 1};
  transfer.sending = std::make_unique<TraceRecord::Times>(transfer.times);
  transfer.sending->received = transfer.sending->submitted = std::uint64_t(-700);
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].submit, 300u);
  EXPECT_EQ(timed[0].start, 300u);
  EXPECT_EQ(timed[0].end, 400u);
}

TEST(TimedRecordsTest, TimesGoForwardWhateverTheClocksSay) {
  TraceBuilder builder;
  builder.profiled(100, 90, 80, 70);
  const auto timed = timed_records(builder.trace);
  EXPECT_EQ(timed[0].received, 100u);
  EXPECT_EQ(timed[0].submit, 100u);
  EXPECT_EQ(timed[0].start, 100u);
  EXPECT_EQ(timed[0].end, 100u);
}

}  // namespace
}  // namespace remotecl
