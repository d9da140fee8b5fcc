// Servers that are killed while a context uses them. Each test takes a server of its own; the last two are
// never killed.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "icd/library.h"
#include "icd/lost_server.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

std::chrono::duration<double> processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
  return std::chrono::duration<double>(seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

#ifdef REMOTECL_HAS_SCHEDULING
TEST_F(LostServerTest, ADividedKernelReturnsTheError) {
  spin_ = make_kernel(program_, "spin");
  spun_ = make_buffer(context_, std::vector<int>(1024, 0));
  check(set_arg(spin_, 0, spun_));
  check(set_arg(spin_, 1, 2'000'000'000));
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  const std::size_t items = 1024;
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  const std::vector<cl_int> results = results_after_kill({[&] {
    return split(1, queue_.pointer(), spin_, 0, 1, nullptr, &items, nullptr, 1, &slice, 0, nullptr, nullptr);
  }});
  EXPECT_EQ(results, std::vector<cl_int>{CL_DEVICE_NOT_AVAILABLE});
}
#endif

TEST_F(LostServerTest, EveryWaitingCallReturnsAnErrorAndNothingSpins) {
  const Owned<cl_event> endless = start_endless();
  std::atomic<cl_int> told{1};
  check(clSetEventCallback(
      endless, CL_COMPLETE,
      [](cl_event, cl_int status, void* told) { *static_cast<std::atomic<cl_int>*>(told) = status; }, &told));
  std::vector<int> host(1024);
  std::vector<char> big(8u << 20);
  const Owned<cl_mem> big_buffer = make_buffer(context_, big.size());
  const std::vector<cl_int> results = results_after_kill({
      [&] { return clFinish(queue_); },
      [&] { return clWaitForEvents(1, endless.pointer()); },
      [&] { return clEnqueueReadBuffer(queue_, spun_, CL_TRUE, 0, 64, host.data(), 0, nullptr, nullptr); },
      [&] { return clEnqueueReadBuffer(queue_, big_buffer, CL_TRUE, 0, big.size(), big.data(), 0, nullptr, nullptr); },
      [&] { return clEnqueueWriteBuffer(queue_, big_buffer, CL_TRUE, 0, big.size(), big.data(), 0, nullptr, nullptr); },
      [&] {
        cl_int error = CL_SUCCESS;
        clEnqueueMapBuffer(queue_, spun_, CL_TRUE, CL_MAP_READ, 0, 64, 0, nullptr, nullptr, &error);
        return error;
      },
  });
  const cl_int lost = CL_DEVICE_NOT_AVAILABLE;
  EXPECT_EQ(results, (std::vector<cl_int>{lost, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, lost, lost, lost, lost}));
  EXPECT_EQ(status(endless), lost);
  for (const auto end = Clock::now() + 1s; told == 1 && Clock::now() < end;) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(told, lost);
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, device(), CL_DEVICE_AVAILABLE), cl_bool{CL_FALSE});
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, survivor(), CL_DEVICE_AVAILABLE), cl_bool{CL_TRUE});
  const auto before = processor_time();
  std::this_thread::sleep_for(1s);
  EXPECT_LT((processor_time() - before).count(), 0.05);
}

TEST_F(LostServerTest, RectanglesOnTheirWayEnd) {
  constexpr std::size_t kRow = 4096, kRows = 16384, kCount = 4;
  const std::size_t region[3] = {kRow - 8, kRows, 1}, origin[3] = {0, 0, 0};
  std::vector<std::vector<char>> from(kCount, std::vector<char>(kRow * kRows, 1)), to = from;
  std::vector<Owned<cl_mem>> buffers;
  std::vector<Owned<cl_event>> ends(2 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    buffers.push_back(make_buffer(context_, kRow * kRows));
    check(clEnqueueWriteBufferRect(queue_, buffers[i], CL_FALSE, origin, origin, region, 0, 0, kRow, 0, from[i].data(),
                                   0, nullptr, ends[2 * i].out()));
    check(clEnqueueReadBufferRect(queue_, buffers[i], CL_FALSE, origin, origin, region, 0, 0, kRow, 0, to[i].data(), 0,
                                  nullptr, ends[2 * i + 1].out()));
  }
  check(clFlush(queue_));
  while (status(ends[0]) > CL_COMPLETE) std::this_thread::yield();  // so that others are on their way
  kill_server();
  const auto killed = Clock::now();
  for (const auto& end : ends) clWaitForEvents(1, end.pointer());
  EXPECT_LT(Clock::now() - killed, 2s);
  EXPECT_EQ(status(ends.back()), CL_DEVICE_NOT_AVAILABLE);
}

TEST_F(LostServerTest, BuildReturnsAnError) {
  // Long enough to be killed in the middle of.
  std::string source;
  for (int i = 0; i < 3000; ++i) {
    source += "kernel void k" + std::to_string(i) +
              "(global float* x) { for (int i = 0; i < 9; i++) x[i] = sin(x[i]) * " + std::to_string(i) + "; }\n";
  }
  const Owned<cl_program> blocking = make_program(context_, source), with_callback = make_program(context_, source);
  const cl_device_id on = device();
  std::promise<void> called;
  check(clBuildProgram(
      with_callback, 1, &on, nullptr,
      [](cl_program, void* called) { static_cast<std::promise<void>*>(called)->set_value(); }, &called));
  const auto results =
      results_after_kill({[&] { return clBuildProgram(blocking, 1, &on, nullptr, nullptr, nullptr); }});
  EXPECT_EQ(results[0], CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(called.get_future().wait_for(1s), std::future_status::ready);
  EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, with_callback.get(), on, CL_PROGRAM_BUILD_STATUS),
            CL_BUILD_ERROR);
}

TEST_F(LostServerTest, OtherServerGoesOnWithWhatItHas) {
  const Owned<cl_mem> lost = make_buffer(context_, 4096), copied = make_buffer(context_, 4096),
                      kept = make_buffer(context_, std::vector<int>(1024, 7));
  const int three = 3;
  check(clEnqueueFillBuffer(queue_, lost, &three, 4, 0, 4096, 0, nullptr, nullptr));
  check(clEnqueueFillBuffer(queue_, copied, &three, 4, 0, 4096, 0, nullptr, nullptr));
  check(clFinish(queue_));
  EXPECT_EQ(read<int>(other_, copied, 1024), std::vector<int>(1024, 3));
  EXPECT_EQ(read<int>(queue_, kept, 1)[0], 7);
  kill_server();
  EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(read<int>(other_, copied, 1024), std::vector<int>(1024, 3));
  EXPECT_EQ(read<int>(other_, kept, 1024), std::vector<int>(1024, 7));
  int host = 0;
  EXPECT_EQ(clEnqueueReadBuffer(other_, lost, CL_TRUE, 0, 4, &host, 0, nullptr, nullptr), CL_DEVICE_NOT_AVAILABLE);
  // What is written anew is there again.
  const int four = 4;
  EXPECT_EQ(clEnqueueFillBuffer(other_, lost, &four, 4, 0, 4096, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read<int>(other_, lost, 1024), std::vector<int>(1024, 4));
  EXPECT_EQ(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, nullptr), CL_DEVICE_NOT_AVAILABLE);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateCommandQueue(context_, device(), 0, &error), nullptr);
  EXPECT_EQ(error, CL_DEVICE_NOT_AVAILABLE);
}

TEST_F(LostServerTest, WhatWasChangedThereIsLostAndNotWhatItWasBefore) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(1024, 7));
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  check(run(queue_, add, 1024));  // after the bytes have come from this process
  check(clFinish(queue_));
  kill_server();
  EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  int host = 0;
  EXPECT_EQ(clEnqueueReadBuffer(other_, buffer, CL_TRUE, 0, 4, &host, 0, nullptr, nullptr), CL_DEVICE_NOT_AVAILABLE)
      << host;
}

TEST_F(LostServerTest, CommandsOfOtherServersThatWaitForItFail) {
  const Owned<cl_event> endless = start_endless();
  Owned<cl_event> dependent, reader;
  check(clEnqueueMarkerWithWaitList(other_, 1, endless.pointer(), dependent.out()));
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 0, spun_));
  check(set_arg(add, 1, 1));
  check(run(other_, add, 16, {endless}, reader.out()));  // needs bytes that are still to be made there
  const auto results = results_after_kill({
      [&] { return clWaitForEvents(1, dependent.pointer()); },
      [&] { return clWaitForEvents(1, reader.pointer()); },
  });
  EXPECT_EQ(results, std::vector<cl_int>(2, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST));
  EXPECT_EQ(clFinish(other_), CL_SUCCESS);
  // The buffer can be used again once it is written anew.
  const int five = 5;
  EXPECT_EQ(clEnqueueFillBuffer(other_, spun_, &five, 4, 0, 256, 0, nullptr, nullptr), CL_SUCCESS);
  int host = 0;
  EXPECT_EQ(clEnqueueReadBuffer(other_, spun_, CL_TRUE, 0, 4, &host, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(host, 5);
}

TEST_F(LostServerTest, CommandThatWaitsForBytesOfAnotherServerEnds) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 1));
  const Owned<cl_event> gate = make_user_event(context_);
  std::vector<int> host(64);
  Owned<cl_event> read, dependent;
  check(clEnqueueReadBuffer(other_, buffer, CL_FALSE, 0, 256, host.data(), 1, gate.pointer(), read.out()));
  check(clEnqueueMarkerWithWaitList(queue_, 1, read.pointer(), dependent.out()));
  check(clFlush(queue_));
  const auto results = results_after_kill({[&] { return clWaitForEvents(1, dependent.pointer()); }});
  EXPECT_EQ(results, std::vector<cl_int>(1, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST));
  EXPECT_EQ(status(dependent), CL_DEVICE_NOT_AVAILABLE);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(clWaitForEvents(1, read.pointer()), CL_SUCCESS);
  EXPECT_EQ(host, std::vector<int>(64, 1));
}

TEST_F(LostServerTest, WhatHasEndedStaysEnded) {
  Owned<cl_event> done;
  check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, done.out()));
  check(clFinish(queue_));
  kill_server();
  EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(status(done), CL_COMPLETE);
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
}

TEST_F(LostServerTest, PollingTheStatusEnds) {
  const Owned<cl_event> endless = start_endless();
  kill_server();
  const auto end = Clock::now() + 1s;
  while (status(endless) > CL_COMPLETE && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(status(endless), CL_DEVICE_NOT_AVAILABLE);
}

TEST_F(LostServerTest, ObjectsCanBeReleasedAndMadeAfterwards) {
  const Owned<cl_mem> before = make_buffer(context_, 4096);
  kill_server();
  EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  const Owned<cl_mem> after = make_buffer(context_, std::vector<int>(1024, 9));
  const Owned<cl_program> program = make_program(context_, kSource);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  const Owned<cl_kernel> add = make_kernel(program, "add");  // built on the other server
  check(set_arg(add, 0, after));
  check(set_arg(add, 1, 1));
  EXPECT_EQ(run(queue_, add, 1024), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(run(other_, add, 1024), CL_SUCCESS);
  EXPECT_EQ(read<int>(other_, after, 1024), std::vector<int>(1024, 10));
}

// The bytes are on a server that is left, but nobody knows how many of them are meant.
TEST_F(LostServerTest, ATransferWhoseContentSizeIsLostIsRefused) {
  const Owned<cl_context> context = make_context({device(), Environment::get().devices()[kServers - 2], survivor()});
  const Owned<cl_command_queue> lost = make_queue(context, device()), to = make_queue(context, survivor());
  const Owned<cl_command_queue> from = make_queue(context, Environment::get().devices()[kServers - 2]);
  constexpr std::size_t kSize = 1 << 20;
  const Owned<cl_mem> buffer = make_buffer(context, kSize), size = make_buffer(context, sizeof(cl_ulong));
  for (const cl_command_queue queue : {to.get(), from.get()}) {
    const int value = queue == from ? 9 : 7;
    check(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, kSize, 0, nullptr, nullptr));
    check(clFinish(queue));
  }
  check(clEnqueueFillBuffer(lost, size, &kSize, sizeof kSize, 0, sizeof kSize, 0, nullptr, nullptr));
  check(clFinish(lost));
  check(library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size")(buffer, size));
  kill_server();
  EXPECT_EQ(clFinish(lost), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(clEnqueueMigrateMemObjects(to, 1, buffer.pointer(), 0, 0, nullptr, nullptr), CL_DEVICE_NOT_AVAILABLE);
}

// They should get to the survivor's first device, and from there to its second one.
TEST_F(LostServerTest, BytesThatNeverComeHarmNoCommandThatOverwritesThem) {
  const cl_device_id second = Environment::get().all_devices().back();
  const Owned<cl_context> context = make_context({device(), survivor(), second});
  const Owned<cl_command_queue> from = make_queue(context, device()), to = make_queue(context, survivor());
  const Owned<cl_command_queue> reader = make_queue(context, second), writer = make_queue(context, second);
  const Owned<cl_event> never = make_user_event(context);
  constexpr std::size_t kCount = 100'000;
  const Owned<cl_mem> buffer = make_buffer(context, kCount * sizeof(int));
  std::vector<int> got(kCount);
  Owned<cl_event> there, overwritten;
  const auto fill = [&](cl_command_queue queue, int value, const std::vector<cl_event>& after, cl_event* event) {
    return clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, kCount * sizeof value,
                               static_cast<cl_uint>(after.size()), after.empty() ? nullptr : after.data(), event);
  };
  check(fill(from, 5, {never}, nullptr));
  check(clEnqueueMigrateMemObjects(to, 1, buffer.pointer(), 0, 0, nullptr, nullptr));
  check(clEnqueueReadBuffer(reader, buffer, CL_FALSE, 0, kCount * sizeof(int), got.data(), 0, nullptr, there.out()));
  check(fill(writer, 7, {}, overwritten.out()));
  check(clFlush(writer));
  kill_server();
  EXPECT_EQ(clWaitForEvents(1, overwritten.pointer()), CL_SUCCESS);
  EXPECT_EQ(read<int>(writer, buffer, kCount), std::vector<int>(kCount, 7));
  EXPECT_NE(clWaitForEvents(1, there.pointer()), CL_SUCCESS);
  check(clSetUserEventStatus(never, -1));
}

TEST_F(LostServerTest, ImageFormatsAreThoseOfTheOtherServer) {
  const Owned<cl_context> lost = make_context({device()});
  kill_server();
  EXPECT_EQ(clFinish(queue_), CL_DEVICE_NOT_AVAILABLE);
  const auto ask = [](cl_context context, cl_uint& count) {
    return clGetSupportedImageFormats(context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count);
  };
  cl_uint count = 0;
  EXPECT_EQ(ask(context_, count), CL_SUCCESS);
  EXPECT_NE(count, 0u);
  EXPECT_EQ(ask(lost, count), CL_DEVICE_NOT_AVAILABLE);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);  // the losses are meant
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(
      new remotecl::testing::Environment(remotecl::testing::kServers, {"POCL_DEVICES=pthread basic"}));
  return RUN_ALL_TESTS();
}
