// The time base: devices' clocks and commands' times, all in this host's clock.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

// How far a time may be off: half a round trip on a busy machine.
constexpr cl_ulong kSlack_ns = 5'000'000;

cl_ulong host_now(cl_device_id device) {
  cl_ulong now = 0;
  check(clGetHostTimer(device, &now));
  return now;
}

struct Times {
  explicit Times(cl_event event) {
    for (int i = 0; i < 5; ++i) {
      static constexpr cl_profiling_info kNames[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                                     CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END,
                                                     CL_PROFILING_COMMAND_COMPLETE};
      ns[i] = value<cl_ulong>(clGetEventProfilingInfo, event, kNames[i]);
    }
  }
  bool in_order() const { return std::is_sorted(ns, ns + 5); }
  cl_ulong queued() const { return ns[0]; }
  cl_ulong start() const { return ns[2]; }
  cl_ulong end() const { return ns[3]; }

  cl_ulong ns[5];
};

std::ostream& operator<<(std::ostream& out, const Times& times) {
  out << "queued " << times.ns[0];
  for (int i = 1; i < 5; ++i) out << " +" << static_cast<cl_long>(times.ns[i] - times.ns[i - 1]);
  return out << " ns";
}

class TimeTest : public RemoteTest {
 protected:
  Owned<cl_command_queue> first_ = make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE);
  Owned<cl_command_queue> second_ = make_queue(context_, device(1), CL_QUEUE_PROFILING_ENABLE);
};

TEST_F(TimeTest, DeviceAndHostTimersAdvanceTogether) {
  for (const std::size_t index : {0, 1}) {
    cl_ulong device_begin = 0, device_end = 0, host_begin = 0, host_end = 0;
    const cl_ulong before = host_now(device(index));
    check(clGetDeviceAndHostTimer(device(index), &device_begin, &host_begin));
    std::this_thread::sleep_for(50ms);
    check(clGetDeviceAndHostTimer(device(index), &device_end, &host_end));
    const cl_ulong after = host_now(device(index));
    EXPECT_LE(before, host_begin);
    EXPECT_LE(host_end, after);
    EXPECT_GE(host_end - host_begin, 50'000'000u);
    EXPECT_NEAR(static_cast<double>(device_end - device_begin), static_cast<double>(host_end - host_begin), kSlack_ns);
    EXPECT_NEAR(static_cast<double>(device_begin), static_cast<double>(host_begin), kSlack_ns);
  }
}

TEST_F(TimeTest, EveryCommandHasTimesBetweenItsEnqueueAndItsEnd) {
  const Owned<cl_mem> buffer = make_buffer(context_, 1u << 20), other = make_buffer(context_, 1u << 20);
  std::vector<char> host(1u << 20);
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  const int zero = 0;
  const std::size_t origin[3] = {}, region[3] = {64, 64, 4};
  void* mapped = nullptr;
  using Enqueue = std::function<cl_int(cl_command_queue, cl_event*)>;
  const std::pair<const char*, Enqueue> commands[] = {
      {"fill", [&](auto q, auto e) { return clEnqueueFillBuffer(q, buffer, &zero, 4, 0, 1u << 20, 0, nullptr, e); }},
      {"write",
       [&](auto q, auto e) { return clEnqueueWriteBuffer(q, buffer, CL_FALSE, 0, 64, host.data(), 0, nullptr, e); }},
      {"write bulk",
       [&](auto q, auto e) {
         return clEnqueueWriteBuffer(q, buffer, CL_FALSE, 0, 1u << 20, host.data(), 0, nullptr, e);
       }},
      {"kernel", [&](auto q, auto e) { return run(q, add, 1024, {}, e); }},
      {"copy", [&](auto q, auto e) { return clEnqueueCopyBuffer(q, buffer, other, 0, 0, 1u << 20, 0, nullptr, e); }},
      {"copy rect",
       [&](auto q, auto e) {
         return clEnqueueCopyBufferRect(q, buffer, other, origin, origin, region, 0, 0, 0, 0, 0, nullptr, e);
       }},
      {"read",
       [&](auto q, auto e) { return clEnqueueReadBuffer(q, buffer, CL_FALSE, 0, 64, host.data(), 0, nullptr, e); }},
      {"read bulk",
       [&](auto q, auto e) {
         return clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, 1u << 20, host.data(), 0, nullptr, e);
       }},
      {"read rect",
       [&](auto q, auto e) {
         return clEnqueueReadBufferRect(q, buffer, CL_TRUE, origin, origin, region, 0, 0, 0, 0, host.data(), 0, nullptr,
                                        e);
       }},
      {"map",
       [&](auto q, auto e) {
         cl_int error = CL_SUCCESS;
         mapped =
             clEnqueueMapBuffer(q, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 1u << 20, 0, nullptr, e, &error);
         return error;
       }},
      {"unmap", [&](auto q, auto e) { return clEnqueueUnmapMemObject(q, buffer, mapped, 0, nullptr, e); }},
      {"map for reading",
       [&](auto q, auto e) {
         cl_int error = CL_SUCCESS;
         mapped = clEnqueueMapBuffer(q, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, nullptr, e, &error);
         return error;
       }},
      {"unmap after reading",
       [&](auto q, auto e) { return clEnqueueUnmapMemObject(q, buffer, mapped, 0, nullptr, e); }},
      {"migrate", [&](auto q, auto e) { return clEnqueueMigrateMemObjects(q, 1, buffer.pointer(), 0, 0, nullptr, e); }},
      {"marker", [&](auto q, auto e) { return clEnqueueMarkerWithWaitList(q, 0, nullptr, e); }},
      {"barrier", [&](auto q, auto e) { return clEnqueueBarrierWithWaitList(q, 0, nullptr, e); }},
  };
  cl_ulong last_end = 0;
  for (const auto& [name, enqueue] : commands) {
    for (const cl_command_queue queue : {first_.get(), second_.get()}) {
      if (queue == second_.get() && std::string(name).find("map") != std::string::npos) continue;
      const cl_ulong before = host_now(device());
      Owned<cl_event> done;
      ASSERT_EQ(enqueue(queue, done.out()), CL_SUCCESS) << name;
      check(clWaitForEvents(1, done.pointer()));
      const cl_ulong after = host_now(device());
      const Times times(done);
      EXPECT_TRUE(times.in_order()) << name << ": " << times;
      EXPECT_LE(before, times.queued() + kSlack_ns) << name;
      EXPECT_LE(times.end(), after + kSlack_ns) << name;
      // One command after another, on two servers.
      EXPECT_LE(last_end, times.start() + kSlack_ns) << name;
      last_end = times.end();
    }
  }
}

TEST_F(TimeTest, WaitingCommandWasQueuedWhenItWasEnqueued) {
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(64));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  check(run(first_, add, 64, {gate}, done.out()));
  const cl_ulong enqueued = host_now(device());
  std::this_thread::sleep_for(30ms);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, done.pointer()));
  const Times times(done);
  EXPECT_LE(times.queued(), enqueued);
  EXPECT_GE(times.start(), enqueued + 25'000'000);
}

TEST_F(TimeTest, TimesOfTwoServersAreInTheOrderOfTheCommands) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 0));
  const Owned<cl_kernel> spin = kernel("spin");
  check(set_arg(spin, 0, buffer));
  check(set_arg(spin, 1, 3'000'000));
  std::vector<Owned<cl_event>> events(6);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::vector<cl_event> wait = i == 0 ? std::vector<cl_event>{} : std::vector<cl_event>{events[i - 1]};
    check(run(i % 2 == 0 ? first_ : second_, spin, 64, wait, events[i].out()));
  }
  check(clFlush(first_));
  check(clFlush(second_));
  check(clWaitForEvents(1, events.back().pointer()));
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_LE(Times(events[i - 1]).end(), Times(events[i]).start() + kSlack_ns);
  }
}

const WrongCall kWrongTimers[] = {
    {"DeviceTimerOfNoDevice", CL_INVALID_DEVICE,
     [](World&) {
       cl_ulong a = 0, b = 0;
       return clGetDeviceAndHostTimer(nullptr, &a, &b);
     }},
    {"DeviceTimerNowhere", CL_INVALID_VALUE,
     [](World& w) {
       cl_ulong b = 0;
       return clGetDeviceAndHostTimer(w.device, nullptr, &b);
     },
     "PoCL has no timers"},
    {"HostTimerBesideDeviceNowhere", CL_INVALID_VALUE,
     [](World& w) {
       cl_ulong a = 0;
       return clGetDeviceAndHostTimer(w.device, &a, nullptr);
     },
     "PoCL has no timers"},
    {"HostTimerOfNoDevice", CL_INVALID_DEVICE,
     [](World&) {
       cl_ulong b = 0;
       return clGetHostTimer(nullptr, &b);
     }},
    {"HostTimerNowhere", CL_INVALID_VALUE, [](World& w) { return clGetHostTimer(w.device, nullptr); },
     "PoCL has no timers"},
};

INSTANTIATE_TEST_SUITE_P(Timers, WrongCallTest, ::testing::ValuesIn(kWrongTimers), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
