// Wait lists, user events, callbacks, status, profiling, markers and barriers.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr cl_command_queue_properties kOutOfOrder = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
constexpr cl_mem_migration_flags kUndefined = CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class EventTest : public RemoteTest {};

// Collects what callbacks say; any thread.
class Calls {
 public:
  static void CL_CALLBACK add(cl_event, cl_int status, void* self) {
    auto& calls = *static_cast<Calls*>(self);
    const std::lock_guard lock(calls.mutex_);
    calls.said_.push_back(status);
    calls.changed_.notify_all();
  }
  std::vector<cl_int> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 5s, [&] { return said_.size() >= count; });
    return said_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<cl_int> said_;
};

TEST_F(EventTest, CommandWaitsForAUserEventOfItsContextOnAnyServer) {
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(64));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1000));
  const Owned<cl_event> gate = make_user_event(context_);
  for (cl_command_queue queue : {queue_.get(), other_.get()}) {
    Owned<cl_event> done;
    check(run(queue, add, 64, {gate}, done.out()));
    check(clFlush(queue));
    EXPECT_GT(status(done), CL_COMPLETE);
    if (queue == queue_.get()) continue;
    EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
    EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
  }
  EXPECT_EQ(status(gate), CL_COMPLETE);
}

TEST_F(EventTest, FailureOfAUserEventFailsTheWholeChainAcrossServers) {
  const Owned<cl_mem> a = make_buffer(context_, numbers(64)), b = make_buffer(context_, numbers(64));
  const Owned<cl_kernel> on_a = kernel("add"), on_b = kernel("add");
  check(set_arg(on_a, 0, a));
  check(set_arg(on_a, 1, 1));
  check(set_arg(on_b, 0, b));
  check(set_arg(on_b, 1, 1));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> first, second, third;
  check(run(queue_, on_a, 64, {gate}, first.out()));
  check(run(other_, on_b, 64, {first}, second.out()));
  check(clEnqueueMarkerWithWaitList(queue_, 1, second.pointer(), third.out()));
  Calls calls;
  check(clSetEventCallback(third, CL_COMPLETE, Calls::add, &calls));
  check(clFlush(queue_));
  check(clFlush(other_));
  check(clSetUserEventStatus(gate, -42));
  EXPECT_EQ(clWaitForEvents(1, third.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(status(gate), -42);
  for (const cl_event event : {first.get(), second.get(), third.get()}) EXPECT_LT(status(event), 0);
  const std::vector<cl_int> said = calls.wait(1);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_LT(said[0], 0);
  // The queues go on.
  Owned<cl_event> fourth;
  check(clEnqueueMarkerWithWaitList(other_, 0, nullptr, fourth.out()));
  EXPECT_EQ(clWaitForEvents(1, fourth.pointer()), CL_SUCCESS);
}

TEST_F(EventTest, BufferSurvivesACommandThatNeverRan) {
  for (const cl_mem_flags flags : {CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR}) {
    std::vector<int> content = numbers(1 << 16);
    const Owned<cl_mem> buffer = make_buffer(context_, content.size() * 4, flags, content.data());
    const Owned<cl_kernel> add = kernel("add");
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failed;
    check(run(queue_, add, content.size(), {gate}, failed.out()));
    check(clSetUserEventStatus(gate, -1));
    EXPECT_NE(clWaitForEvents(1, failed.pointer()), CL_SUCCESS);
    const std::vector<int> expected = numbers(1 << 16);
    std::vector<int> host(content.size());
    ASSERT_EQ(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, host.size() * 4, host.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_TRUE(host == expected);
  }
}

TEST_F(EventTest, StatusReachesCompleteWithoutAFlushOfTheApplication) {
  Owned<cl_event> done;
  check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, done.out()));
  const auto end = Clock::now() + 5s;
  while (status(done) > CL_COMPLETE && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(status(done), CL_COMPLETE);
}

TEST_F(EventTest, CallbacksComeForEveryStateWithoutAnybodyWaiting) {
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(clEnqueueMarkerWithWaitList(queue_, 1, gate.pointer(), done.out()));
  Calls submitted, running, complete;
  check(clSetEventCallback(done, CL_COMPLETE, Calls::add, &complete));
  check(clSetEventCallback(done, CL_RUNNING, Calls::add, &running));
  check(clSetEventCallback(done, CL_SUBMITTED, Calls::add, &submitted));
  check(clFlush(queue_));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(complete.wait(1), std::vector<cl_int>{CL_COMPLETE});
  EXPECT_EQ(running.wait(1), std::vector<cl_int>{CL_RUNNING});
  EXPECT_EQ(submitted.wait(1), std::vector<cl_int>{CL_SUBMITTED});
  Calls late;
  check(clSetEventCallback(done, CL_COMPLETE, Calls::add, &late));
  EXPECT_EQ(late.wait(1), std::vector<cl_int>{CL_COMPLETE});
}

TEST_F(EventTest, EventOutlivesItsReleaseUntilItsCallbackHasRun) {
  Calls calls;
  const Owned<cl_event> gate = make_user_event(context_);
  {
    Owned<cl_event> done;
    check(clEnqueueMarkerWithWaitList(other_, 1, gate.pointer(), done.out()));
    check(clSetEventCallback(done, CL_COMPLETE, Calls::add, &calls));
  }
  check(clFlush(other_));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(calls.wait(1), std::vector<cl_int>{CL_COMPLETE});
}

TEST_F(EventTest, ProfilingTimesAreInOrder) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_mem> buffer = make_buffer(context_, 1u << 20);
  std::vector<char> host(1u << 20);
  std::vector<Owned<cl_event>> events(6);
  const int zero = 0;
  check(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 1u << 20, 0, nullptr, events[0].out()));
  check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 1u << 20, host.data(), 0, nullptr, events[1].out()));
  check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 64, host.data(), 0, nullptr, events[2].out()));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  check(run(queue, add, 1024, {}, events[3].out()));
  check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 1u << 20, host.data(), 0, nullptr, events[4].out()));
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 64, host.data(), 0, nullptr, events[5].out()));
  check(clFinish(queue));
  cl_ulong last_end = 0;
  for (const auto& event : events) {
    const auto time = [&](cl_profiling_info name) {
      return value<cl_ulong>(clGetEventProfilingInfo, event.get(), name);
    };
    const auto queued = time(CL_PROFILING_COMMAND_QUEUED), submit = time(CL_PROFILING_COMMAND_SUBMIT);
    const auto start = time(CL_PROFILING_COMMAND_START), end = time(CL_PROFILING_COMMAND_END);
    EXPECT_GT(queued, 0u);
    EXPECT_LE(queued, submit);
    EXPECT_LE(submit, start);
    EXPECT_LE(start, end);
    EXPECT_LE(last_end, end);
    last_end = end;
  }
}

TEST_F(EventTest, NoProfileWithoutTheQueuePropertyOrBeforeTheEnd) {
  const auto ask = [](cl_event event) {
    cl_ulong time = 0;
    return clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, nullptr);
  };
  Owned<cl_event> plain, waiting;
  check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, plain.out()));
  check(clFinish(queue_));
  EXPECT_EQ(ask(plain), CL_PROFILING_INFO_NOT_AVAILABLE);
  const Owned<cl_command_queue> queue = make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_event> gate = make_user_event(context_);
  EXPECT_EQ(ask(gate), CL_PROFILING_INFO_NOT_AVAILABLE);
  check(clEnqueueMarkerWithWaitList(queue, 1, gate.pointer(), waiting.out()));
  EXPECT_EQ(ask(waiting), CL_PROFILING_INFO_NOT_AVAILABLE);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue));
  EXPECT_EQ(ask(waiting), CL_SUCCESS);
}

TEST_F(EventTest, BarrierOrdersAnOutOfOrderQueue) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(0), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 0));
  const Owned<cl_kernel> spin = kernel("spin"), add = kernel("add");
  check(set_arg(spin, 0, buffer));
  check(set_arg(spin, 1, 200'000));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  for (int round = 1; round <= 10; ++round) {
    check(run(queue, spin, 64));
    check(clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr));
    check(run(queue, add, 64));
    check(clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr));
    ASSERT_EQ(read<int>(queue, buffer, 64), std::vector<int>(64, round * 200'001));
  }
}

TEST_F(EventTest, MarkerOfAnOutOfOrderQueueWaitsForItsListOnly) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(0), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> held, free, after_free, all;
  check(clEnqueueMarkerWithWaitList(queue, 1, gate.pointer(), held.out()));
  const Owned<cl_mem> buffer = make_buffer(context_, 64);
  const int zero = 0;
  check(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 64, 0, nullptr, free.out()));
  check(clEnqueueMarkerWithWaitList(queue, 1, free.pointer(), after_free.out()));
  check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, all.out()));
  EXPECT_EQ(clWaitForEvents(1, after_free.pointer()), CL_SUCCESS);
  EXPECT_GT(status(held), CL_COMPLETE);
  EXPECT_GT(status(all), CL_COMPLETE);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(clWaitForEvents(1, all.pointer()), CL_SUCCESS);
  EXPECT_EQ(status(held), CL_COMPLETE);
}

TEST_F(EventTest, MigrationWaitsForItsListInEveryQueue) {
  const Owned<cl_mem> spun = make_buffer(context_, std::vector<int>(64, 0)), moved = make_buffer(context_, numbers(64));
  const Owned<cl_kernel> spin = kernel("spin");
  check(set_arg(spin, 0, spun));
  check(set_arg(spin, 1, 3'000'000));
  for (const auto properties : {cl_command_queue_properties{0}, kOutOfOrder}) {
    for (const auto flags : {cl_mem_migration_flags{0}, kUndefined}) {
      const Owned<cl_command_queue> other = make_queue(context_, device(0), properties);
      Owned<cl_event> spinning, migrated;
      check(run(queue_, spin, 64, {}, spinning.out()));
      check(clFlush(queue_));
      std::this_thread::sleep_for(2ms);  // the driver has it
      check(clEnqueueMigrateMemObjects(other, 1, moved.pointer(), flags, 1, spinning.pointer(), migrated.out()));
      check(clWaitForEvents(1, migrated.pointer()));
      EXPECT_EQ(status(spinning), CL_COMPLETE) << properties << ' ' << flags;
      check(clFinish(queue_));
    }
  }
}

TEST_F(EventTest, UserEventOfAnotherThreadEndsEveryBlockingCall) {
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(1024));
  std::vector<int> host(1024);
  const auto blocked = [&](auto call) {
    const Owned<cl_event> gate = make_user_event(context_);
    std::thread setter([&] {
      std::this_thread::sleep_for(20ms);  // the call is to find the event unset
      clSetUserEventStatus(gate, CL_COMPLETE);
    });
    EXPECT_EQ(call(gate.pointer()), CL_SUCCESS);
    EXPECT_EQ(status(gate), CL_COMPLETE);
    setter.join();
  };
  blocked([&](const cl_event* gate) { return clWaitForEvents(1, gate); });
  blocked([&](const cl_event* gate) {
    return clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, 4096, host.data(), 1, gate, nullptr);
  });
  blocked([&](const cl_event* gate) {
    check(clEnqueueMarkerWithWaitList(other_, 1, gate, nullptr));
    return clFinish(other_);
  });
  blocked([&](const cl_event* gate) {
    cl_int error = CL_SUCCESS;
    void* mapped = clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 1, gate, nullptr, &error);
    if (error == CL_SUCCESS) check(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
    return error;
  });
}

// A write that does not block has ended for the application when the thread that sends its bytes has said so. The
// server may have answered what waited for it before.
TEST_F(EventTest, ABlockingReadReturnsAfterTheTransfersThatItWaitsFor) {
  constexpr std::size_t kInts = 25'000;
  const Owned<cl_mem> buffer = make_buffer(context_, kInts * sizeof(int));
  const std::vector<int> ints(kInts, 1);
  std::atomic<bool> stops{false};
  std::vector<std::thread> busy(2 * std::thread::hardware_concurrency());
  for (std::thread& thread : busy)
    thread = std::thread([&] {
      while (!stops) {
      }
    });
  for (const auto properties : {kOutOfOrder, cl_command_queue_properties{0}}) {
    const Owned<cl_command_queue> later = make_queue(context_, device(0), properties);
    for (int i = 0; i < 400; ++i) {
      const bool has_barrier = properties == kOutOfOrder && i % 2 == 0;
      Owned<cl_event> write;
      int seen = 0;
      check(
          clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, kInts * sizeof(int), ints.data(), 0, nullptr, write.out()));
      if (has_barrier) check(clEnqueueBarrierWithWaitList(later, 1, write.pointer(), nullptr));
      check(clEnqueueReadBuffer(later, buffer, CL_TRUE, 0, sizeof seen, &seen, has_barrier ? 0 : 1,
                                has_barrier ? nullptr : write.pointer(), nullptr));
      EXPECT_EQ(status(write), CL_COMPLETE) << i << (has_barrier ? " behind a barrier" : "");
    }
  }
  stops = true;
  for (std::thread& thread : busy) thread.join();
}

TEST_F(EventTest, InfoNamesCommandQueueAndContext) {
  Owned<cl_event> marker;
  check(clEnqueueMarkerWithWaitList(other_, 0, nullptr, marker.out()));
  EXPECT_EQ(value<cl_command_queue>(clGetEventInfo, marker.get(), CL_EVENT_COMMAND_QUEUE), other_.get());
  EXPECT_EQ(value<cl_context>(clGetEventInfo, marker.get(), CL_EVENT_CONTEXT), context_.get());
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, marker.get(), CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_MARKER});
  EXPECT_EQ(value<cl_uint>(clGetEventInfo, marker.get(), CL_EVENT_REFERENCE_COUNT), 1u);
  const Owned<cl_event> user = make_user_event(context_);
  EXPECT_EQ(value<cl_command_queue>(clGetEventInfo, user.get(), CL_EVENT_COMMAND_QUEUE), nullptr);
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, user.get(), CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_USER});
  EXPECT_EQ(status(user), CL_SUBMITTED);
}

}  // namespace
}  // namespace remotecl::testing
