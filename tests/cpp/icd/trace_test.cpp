// Traces through the public header, on two servers.
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;

constexpr std::size_t kCount = 1u << 20;  // ints

int start_trace(std::uint64_t records_max = 0, std::string* error = nullptr) {
  char* text = nullptr;
  const int result = library_function<decltype(remotecl_trace_start)>("remotecl_trace_start")(records_max, &text);
  if (error != nullptr && text != nullptr) *error = text;
  library_function<decltype(remotecl_free)>("remotecl_free")(text);
  return result;
}

// The records of the trace as objects, under "records" of the rest; null when there was no trace.
json stop_trace(double wait_s = 10) {
  char* text = library_function<decltype(remotecl_trace_stop)>("remotecl_trace_stop")(wait_s);
  if (text == nullptr) return {};
  json trace = json::parse(text);
  library_function<decltype(remotecl_free)>("remotecl_free")(text);
  for (json& row : trace["records"]) {
    json record;
    for (std::size_t i = 0; i < row.size(); ++i) record[trace["columns"][i].get<std::string>()] = row[i];
    row = record;
  }
  return trace;
}

std::vector<json> of_kind(const json& trace, const std::string& kind) {
  std::vector<json> found;
  for (const json& record : trace["records"]) {
    if (record["kind"] == kind) found.push_back(record);
  }
  return found;
}

void expect_times_in_order(const json& trace) {
  for (const json& record : trace["records"]) {
    EXPECT_EQ(record["status"], 0) << record;
    EXPECT_LE(0, record["queued"].get<std::int64_t>()) << record;
    std::int64_t before = record["queued"];
    for (const char* name : {"received", "submit", "start", "end"}) {
      ASSERT_FALSE(record[name].is_null()) << name << record;
      EXPECT_LE(before, record[name].get<std::int64_t>()) << name << record;
      before = record[name];
    }
    for (const std::size_t other : record["depends_on"]) {
      EXPECT_LE(trace["records"][other]["end"], record["start"]) << trace["records"][other] << record;
    }
  }
}

class TraceTest : public RemoteTest {
 protected:
  // One server makes the numbers, the other one works on them, and they come here.
  void run_pipeline(cl_mem buffer, cl_command_queue one, cl_command_queue other, const char* arrow = "event") {
    const Owned<cl_kernel> add = kernel("add");
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    Owned<cl_event> made;
    check(run(one, add, kCount, {}, made.out()));
    check(clFlush(one));
    check(
        run(other, add, kCount, std::string(arrow) == "event" ? std::vector<cl_event>{made} : std::vector<cl_event>{}));
    read<int>(other, buffer, kCount);
  }
};

TEST_F(TraceTest, TwoServerPipelineIsInOrder) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 5));
  program();
  ASSERT_EQ(start_trace(), 0);
  run_pipeline(buffer, queue_, other_);
  const json trace = stop_trace();
  expect_times_in_order(trace);
  const auto kernels = of_kind(trace, "kernel"), transfers = of_kind(trace, "transfer"), reads = of_kind(trace, "read");
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_EQ(transfers.size(), 2u) << "an upload and one between the servers";
  ASSERT_EQ(reads.size(), 1u);
  const json &upload = transfers[0], &push = transfers[1];
  EXPECT_EQ(kernels[0]["name"], "add");
  EXPECT_EQ(upload["source"], -1);
  EXPECT_EQ(upload["destination"], kernels[0]["lane"]);
  EXPECT_EQ(push["source"], kernels[0]["lane"]);
  EXPECT_EQ(push["destination"], kernels[1]["lane"]);
  EXPECT_NE(push["source"], push["destination"]);
  for (const json& transfer : transfers) {
    EXPECT_EQ(transfer["bytes"], kCount * sizeof(int));
    EXPECT_EQ(transfer["queue"], 0);
  }
  EXPECT_EQ(reads[0]["destination"], -1);
  EXPECT_LE(reads[0]["start"], reads[0]["arrived"]);
  const std::set<std::string> kinds = {"tcp", "tls", "shm", "rdma"};
  for (const json& moved : {upload, push, reads[0]}) {
    EXPECT_TRUE(moved["transport"].is_string() && kinds.contains(moved["transport"])) << moved;
  }
  EXPECT_TRUE(kernels[0]["transport"].is_null());
  // Producer, transfer, consumer: each ends before the next one starts, and says so.
  EXPECT_LE(upload["end"], kernels[0]["start"]);
  EXPECT_LE(kernels[0]["end"], push["start"]);
  EXPECT_LE(push["end"], kernels[1]["start"]);
  EXPECT_LE(kernels[1]["end"], reads[0]["start"]);
  const auto index = [&](const json& record) {
    return std::find(trace["records"].begin(), trace["records"].end(), record) - trace["records"].begin();
  };
  const auto waits = [&](const json& record, const json& other) {
    const auto& list = record["depends_on"];
    return std::find(list.begin(), list.end(), index(other)) != list.end();
  };
  EXPECT_TRUE(waits(kernels[0], upload));
  EXPECT_TRUE(waits(push, kernels[0]));
  EXPECT_TRUE(waits(kernels[1], push));
  EXPECT_TRUE(waits(kernels[1], kernels[0])) << "by its wait list";
  EXPECT_EQ(kernels[0]["buffers"], json::array({reinterpret_cast<std::uintptr_t>(buffer.get())}));
  EXPECT_EQ(kernels[0]["queue"], reinterpret_cast<std::uintptr_t>(queue_.get()));
  EXPECT_EQ(trace["lanes"][kernels[0]["lane"].get<int>()]["device"],
            text(clGetDeviceInfo, device(0), cl_device_info{CL_DEVICE_NAME}));
}

TEST_F(TraceTest, ProfiledQueuesHaveTheDevicesTimes) {
  const Owned<cl_command_queue> one = make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE),
                                other = make_queue(context_, device(1), CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 5));
  ASSERT_EQ(start_trace(), 0);
  run_pipeline(buffer, one, other);
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  Owned<cl_event> last;
  check(run(other, add, kCount, {}, last.out()));
  check(clWaitForEvents(1, last.pointer()));
  const json trace = stop_trace();
  expect_times_in_order(trace);
  const auto kernels = of_kind(trace, "kernel");
  ASSERT_EQ(kernels.size(), 3u);
  for (const json& record : kernels) EXPECT_EQ(record["profiled"], 1);
  const auto time = [&](cl_profiling_info name) { return value<cl_ulong>(clGetEventProfilingInfo, last.get(), name); };
  // The two may place the device's clock differently, but not its durations.
  EXPECT_EQ(kernels[2]["end"].get<std::int64_t>() - kernels[2]["start"].get<std::int64_t>(),
            std::int64_t(time(CL_PROFILING_COMMAND_END) - time(CL_PROFILING_COMMAND_START)));
}

TEST_F(TraceTest, EveryCommandWithoutAnEventIsThere) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 0));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  constexpr int kLaunches = 2000;
  ASSERT_EQ(start_trace(), 0);
  for (int i = 0; i < kLaunches; ++i) check(run(queue_, add, 64));
  const json trace = stop_trace();  // nobody has waited for them
  const auto kernels = of_kind(trace, "kernel");
  ASSERT_EQ(kernels.size(), std::size_t{kLaunches});
  expect_times_in_order(trace);
  for (int i = 1; i < kLaunches; ++i) EXPECT_LE(kernels[i - 1]["end"], kernels[i]["start"]) << i;
  EXPECT_EQ(read<int>(queue_, buffer, 64), std::vector<int>(64, kLaunches));
}

TEST_F(TraceTest, FailedCommandsHaveTheirErrors) {
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> failed, dependent;
  ASSERT_EQ(start_trace(), 0);
  check(clEnqueueMarkerWithWaitList(queue_, 1, gate.pointer(), failed.out()));
  check(clEnqueueMarkerWithWaitList(other_, 1, failed.pointer(), dependent.out()));
  check(clSetUserEventStatus(gate, -5));
  EXPECT_NE(clWaitForEvents(1, dependent.pointer()), CL_SUCCESS);
  const json trace = stop_trace();
  ASSERT_EQ(trace["records"].size(), 2u);
  for (const json& record : trace["records"]) {
    EXPECT_EQ(record["status"], CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_FALSE(record["end"].is_null());
  }
  EXPECT_EQ(trace["records"][1]["depends_on"], json::array({0}));
}

TEST_F(TraceTest, WhatHasNotEndedIsNotWaitedForLongerThanAsked) {
  const Owned<cl_event> gate = make_user_event(context_);
  ASSERT_EQ(start_trace(), 0);
  check(clEnqueueMarkerWithWaitList(queue_, 1, gate.pointer(), nullptr));
  const json trace = stop_trace(0);
  ASSERT_EQ(trace["records"].size(), 1u);
  EXPECT_EQ(trace["records"][0]["status"], CL_QUEUED);
  EXPECT_TRUE(trace["records"][0]["end"].is_null());
  // Its end comes in the next trace, and is none of that one's business.
  ASSERT_EQ(start_trace(), 0);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  check(clEnqueueMarkerWithWaitList(other_, 0, nullptr, nullptr));
  const json next = stop_trace();
  ASSERT_EQ(next["records"].size(), 1u);
  EXPECT_EQ(next["records"][0]["status"], 0);
}

TEST_F(TraceTest, TooManyRecordsAreCounted) {
  ASSERT_EQ(start_trace(3), 0);
  for (int i = 0; i < 8; ++i) check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, nullptr));
  const json trace = stop_trace();
  EXPECT_EQ(trace["records"].size(), 3u);
  EXPECT_EQ(trace["dropped"], 5);
}

TEST_F(TraceTest, OneAtATime) {
  EXPECT_TRUE(stop_trace().is_null());
  ASSERT_EQ(start_trace(), 0);
  std::string error;
  EXPECT_EQ(start_trace(0, &error), -1);
  EXPECT_NE(error.find("running already"), std::string::npos) << error;
  EXPECT_EQ(stop_trace()["records"].size(), 0u);
  EXPECT_TRUE(stop_trace().is_null());
}

TEST_F(TraceTest, ManyThreads) {
  constexpr int kThreads = 4, kEach = 300;
  ASSERT_EQ(start_trace(), 0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Owned<cl_command_queue> own = make_queue(context_, device(thread % 2));
      for (int i = 0; i < kEach; ++i) check(clEnqueueMarkerWithWaitList(own, 0, nullptr, nullptr));
      check(clFinish(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const json trace = stop_trace();
  EXPECT_EQ(trace["records"].size(), std::size_t{kThreads * kEach});
  expect_times_in_order(trace);
}

TEST_F(TraceTest, EventsTellWhatTheyWaitFor) {
  const Owned<cl_kernel> add = kernel("add");
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 0));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  const Owned<cl_command_queue> profiled = make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE);
  Owned<cl_event> first, second;
  check(run(profiled, add, 64, {}, first.out()));
  check(clEnqueueMarkerWithWaitList(other_, 1, first.pointer(), second.out()));
  check(clWaitForEvents(1, second.pointer()));
  const cl_event events[] = {first, second};
  char* text = library_function<decltype(remotecl_events_json)>("remotecl_events_json")(events, 2);
  const json told = json::parse(text);
  library_function<decltype(remotecl_free)>("remotecl_free")(text);
  EXPECT_EQ(told[0]["name"], "add");
  EXPECT_EQ(told[0]["waits"], json::array());
  EXPECT_EQ(told[0]["times"].size(), 4u);
  EXPECT_EQ(told[1]["kind"], "marker");
  EXPECT_EQ(told[1]["waits"], json::array({told[0]["event"]}));
  EXPECT_TRUE(told[1]["times"].is_null());
  EXPECT_NE(told[0]["server"], told[1]["server"]);
}

}  // namespace
}  // namespace remotecl::testing
