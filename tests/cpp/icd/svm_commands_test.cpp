// The commands on shared virtual memory: copies, fills, migration, the end of memory.
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "icd/svm_fixture.h"

namespace remotecl::testing {
namespace {

class SvmCommandTest : public SvmTest {};

constexpr std::size_t kSizes[] = {4096, 5u << 20};

TEST_F(SvmCommandTest, CopiesBetweenAnyTwoMemories) {
  for (const std::size_t size : kSizes) {
    const std::size_t count = size / sizeof(int);
    const Shared<int> from(context_, count), to(context_, count);
    std::vector<int> host(count), host_to(count);
    int seed = 0;
    for (const bool from_svm : {false, true}) {
      for (const bool to_svm : {false, true}) {
        for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
          const std::vector<int> content = numbers(count, seed += 1000);
          if (from_svm) {
            from.write(other_, content);
            check(clFinish(other_));
          } else {
            host = content;
          }
          Owned<cl_event> done;
          check(clEnqueueSVMMemcpy(queue_, blocking, to_svm ? to.get() : host_to.data(),
                                   from_svm ? from.get() : host.data(), size, 0, nullptr, done.out()));
          EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_MEMCPY);
          if (blocking == CL_FALSE) check(clFinish(queue_));
          EXPECT_TRUE((to_svm ? to.read(queue_) : host_to) == content)
              << size << " bytes, from SVM " << from_svm << ", to SVM " << to_svm << ", blocking " << blocking;
        }
      }
    }
  }
}

TEST_F(SvmCommandTest, CopyBetweenHostMemoriesWaits) {
  int from = 1, to = 0;
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(clEnqueueSVMMemcpy(queue_, CL_FALSE, &to, &from, sizeof to, 1, gate.pointer(), done.out()));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GT(status(done), CL_COMPLETE);
  EXPECT_EQ(to, 0);
  from = 2;
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(to, 2);
  EXPECT_EQ(status(done), CL_COMPLETE);
}

// The bytes of a small write are sent with its command, where they are there already.
TEST_F(SvmCommandTest, WhatACopyBetweenHostMemoriesWritesIsWhatLaterCommandsSend) {
  const std::vector<int> from = numbers(16);
  std::vector<int> between(16, -1), to(16, -2);
  const Owned<cl_mem> buffer = make_buffer(context_, 64), rows = make_buffer(context_, 64);
  const Owned<cl_event> gate = make_user_event(context_);
  check(clEnqueueSVMMemcpy(queue_, CL_FALSE, between.data(), from.data(), 64, 1, gate.pointer(), nullptr));
  check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, 64, between.data(), 0, nullptr, nullptr));
  const std::size_t origin[3] = {0, 0, 0}, region[3] = {8, 4, 1};
  check(clEnqueueWriteBufferRect(queue_, rows, CL_FALSE, origin, origin, region, 16, 64, 16, 64, between.data(), 0,
                                 nullptr, nullptr));
  check(clEnqueueSVMMemcpy(queue_, CL_FALSE, to.data(), between.data(), 64, 0, nullptr, nullptr));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(to, from);
  check(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, 64, to.data(), 0, nullptr, nullptr));
  EXPECT_EQ(to, from);
  check(clEnqueueReadBuffer(queue_, rows, CL_TRUE, 0, 8, to.data(), 0, nullptr, nullptr));
  EXPECT_EQ(to[1], from[1]);
}

TEST_F(SvmCommandTest, CommandsThatNeverRanLeaveWhatWasThere) {
  constexpr std::size_t kInts = 1 << 16, kSize = kInts * sizeof(int);
  const std::vector<int> old = numbers(kInts);
  const int other = -7;
  Shared<int> shared(context_, kInts), source(context_, kInts);
  check(clEnqueueSVMMemcpy(queue_, CL_TRUE, shared.get(), old.data(), kSize, 0, nullptr, nullptr));
  check(clEnqueueSVMMemFill(other_, source.get(), &other, sizeof other, kSize, 0, nullptr, nullptr));
  for (const bool fills : {true, false}) {
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failed;
    check(
        fills
            ? clEnqueueSVMMemFill(other_, shared.get(), &other, sizeof other, kSize, 1, gate.pointer(), failed.out())
            : clEnqueueSVMMemcpy(other_, CL_FALSE, shared.get(), source.get(), kSize, 1, gate.pointer(), failed.out()));
    check(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    EXPECT_NE(clWaitForEvents(1, failed.pointer()), CL_SUCCESS);
    EXPECT_TRUE(shared.read(other_) == old) << fills;
    EXPECT_TRUE(shared.read(queue_) == old) << fills;
  }
  check(clFinish(queue_));
  check(clFinish(other_));
}

TEST_F(SvmCommandTest, CopyInsideAnAllocation) {
  const Shared<int> data(context_, 1024);
  data.write(queue_, numbers(1024));
  check(clEnqueueSVMMemcpy(queue_, CL_FALSE, data + 512, data + 1, 400 * sizeof(int), 0, nullptr, nullptr));
  std::vector<int> expected = numbers(1024);
  std::copy_n(expected.begin() + 1, 400, expected.begin() + 512);
  EXPECT_EQ(data.read(queue_), expected);
}

TEST_F(SvmCommandTest, FillsWithEveryPatternSize) {
  const Shared<unsigned char> data(context_, 4096);
  for (std::size_t pattern_size = 1; pattern_size <= 128; pattern_size *= 2) {
    std::vector<unsigned char> expected(4096, 0xee);
    data.write(queue_, expected);
    std::vector<unsigned char> pattern(pattern_size);
    for (std::size_t i = 0; i < pattern_size; ++i) pattern[i] = static_cast<unsigned char>(i + pattern_size);
    Owned<cl_event> done;
    check(clEnqueueSVMMemFill(queue_, data + pattern_size * 3, pattern.data(), pattern_size, pattern_size * 5, 0,
                              nullptr, done.out()));
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_MEMFILL);
    for (std::size_t i = 0; i < pattern_size * 5; ++i) expected[pattern_size * 3 + i] = pattern[i % pattern_size];
    EXPECT_EQ(data.read(queue_), expected) << pattern_size;
  }
}

TEST_F(SvmCommandTest, MigrationKeepsTheContent) {
  const Shared<int> data(context_, 1024), other(context_, 64);
  data.write(queue_, numbers(1024));
  other.write(queue_, numbers(64));
  const void* pointers[] = {data + 10, other.get()};
  const std::size_t sizes[] = {40, 0};
  for (const cl_mem_migration_flags flags :
       {cl_mem_migration_flags{0}, cl_mem_migration_flags{CL_MIGRATE_MEM_OBJECT_HOST}}) {
    Owned<cl_event> done;
    check(clEnqueueSVMMigrateMem(other_, 2, pointers, sizes, flags, 0, nullptr, done.out()));
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_MIGRATE_MEM);
    check(clWaitForEvents(1, done.pointer()));
    EXPECT_EQ(data.read(other_), numbers(1024));
    EXPECT_EQ(other.read(other_), numbers(64));
  }
}

TEST_F(SvmCommandTest, EventsOfMapAndUnmap) {
  const Shared<int> data(context_, 64);
  Owned<cl_event> mapped, unmapped;
  check(clEnqueueSVMMap(queue_, CL_FALSE, CL_MAP_WRITE, data, data.size(), 0, nullptr, mapped.out()));
  check(clWaitForEvents(1, mapped.pointer()));
  check(clEnqueueSVMUnmap(queue_, data, 0, nullptr, unmapped.out()));
  check(clWaitForEvents(1, unmapped.pointer()));
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, mapped.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_MAP);
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, unmapped.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_UNMAP);
}

// Reads and writes of buffers whose other end is shared memory, mapped or not.
TEST_F(SvmCommandTest, BufferTransfersTakeItAsHostMemory) {
  constexpr std::size_t kCount = 1024;
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(kCount));
  for (const bool mapped : {true, false}) {
    const Shared<int> data(context_, kCount);
    data.write(queue_, std::vector<int>(kCount, -1));
    check(add(queue_, data, 0, kCount));  // now the device alone has the newest bytes
    if (mapped) data.map(queue_);
    Owned<cl_event> done;
    check(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 40, 400, data + 10, 0, nullptr, done.out()));
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_READ_BUFFER);
    const std::size_t origin[3] = {0, 0, 0}, region[3] = {16, 3, 1}, host_origin[3] = {8, 1, 0};
    check(clEnqueueReadBufferRect(queue_, buffer, CL_TRUE, origin, host_origin, region, 64, 0, 32, 0, data + 500, 0,
                                  nullptr, nullptr));
    if (mapped) data.unmap(queue_);
    std::vector<int> expected(kCount, -1);
    for (int i = 0; i < 100; ++i) expected[10 + i] = 10 + i;
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) expected[500 + (y + 1) * 8 + 2 + x] = y * 16 + x;
    }
    EXPECT_EQ(data.read(other_), expected) << (mapped ? "mapped" : "not mapped");

    const Owned<cl_mem> target = make_buffer(context_, std::vector<int>(kCount, 0));
    check(add(queue_, data, 1, kCount));
    if (mapped) data.map(queue_, CL_MAP_READ);
    check(clEnqueueWriteBuffer(queue_, target, CL_TRUE, 0, 400, data + 10, 0, nullptr, nullptr));
    check(clEnqueueWriteBufferRect(queue_, target, CL_TRUE, host_origin, origin, region, 32, 0, 64, 0, data + 10, 0,
                                   nullptr, nullptr));
    if (mapped) data.unmap(queue_);
    std::vector<int> written(kCount, 0);
    for (int i = 0; i < 100; ++i) written[i] = 11 + i;
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) written[(y + 1) * 8 + 2 + x] = 11 + y * 16 + x;
    }
    EXPECT_EQ(read<int>(queue_, target, kCount), written) << (mapped ? "mapped" : "not mapped");
  }
}

TEST_F(SvmCommandTest, ImageTransfersTakeItAsHostMemory) {
  constexpr std::size_t kCount = 1024, kWidth = 16, kHeight = 8;
  const cl_image_format format{CL_R, CL_SIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = kWidth;
  desc.image_height = kHeight;
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> image(clCreateImage(context_, 0, &format, &desc, nullptr, &error));
  check(error);
  const std::size_t origin[3] = {4, 1, 0}, region[3] = {8, 5, 1}, packed = 8 * sizeof(int), wide = 12 * sizeof(int);
  for (const bool mapped : {true, false}) {
    const Shared<int> data(context_, kCount);
    data.write(queue_, numbers(kCount));
    check(add(queue_, data, 1, kCount));  // now the device alone has the newest bytes
    if (mapped) data.map(queue_);
    Owned<cl_event> written, done;
    check(clEnqueueWriteImage(queue_, image, CL_TRUE, origin, region, 0, 0, data + 10, 0, nullptr, written.out()));
    check(clEnqueueReadImage(queue_, image, CL_TRUE, origin, region, packed, 0, data + 500, 0, nullptr, done.out()));
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, written.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_WRITE_IMAGE);
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_READ_IMAGE);
    // With gaps between the rows.
    check(clEnqueueWriteImage(queue_, image, CL_FALSE, origin, region, wide, 0, data + 10, 0, nullptr, written.out()));
    check(clEnqueueReadImage(queue_, image, CL_TRUE, origin, region, wide, 0, data + 600, 0, nullptr, done.out()));
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, written.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_WRITE_IMAGE);
    EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_READ_IMAGE);
    if (mapped) data.unmap(queue_);
    std::vector<int> expected = numbers(kCount, 1);
    std::copy_n(expected.begin() + 10, 40, expected.begin() + 500);
    for (int y = 0; y < 5; ++y) std::copy_n(expected.begin() + 10 + y * 12, 8, expected.begin() + 600 + y * 12);
    EXPECT_EQ(data.read(other_), expected) << (mapped ? "mapped" : "not mapped");
  }
}

struct Freed {
  std::atomic<int> calls{0};
  cl_command_queue queue = nullptr;
  std::vector<void*> pointers;
};
void CL_CALLBACK note_free(cl_command_queue queue, cl_uint count, void* pointers[], void* user_data) {
  Freed& freed = *static_cast<Freed*>(user_data);
  freed.queue = queue;
  freed.pointers.assign(pointers, pointers + count);
  const auto context = value<cl_context>(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT);
  for (void* pointer : freed.pointers) clSVMFree(context, pointer);
  freed.calls.fetch_add(1);
}

TEST_F(SvmCommandTest, FreeCallsBackInItsTurn) {
  Shared<int> first(context_, 16), second(context_, 1u << 20);
  void* pointers[] = {first.get(), second.get()};
  Freed freed;
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(clEnqueueSVMFree(queue_, 2, pointers, note_free, &freed, 1, gate.pointer(), done.out()));
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, done.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_SVM_FREE);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(freed.calls, 0);
  const std::vector<void*> expected{first.detach(), second.detach()};
  pointers[0] = pointers[1] = nullptr;  // the command has its own list
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, done.pointer()));
  EXPECT_EQ(freed.calls, 1);
  EXPECT_EQ(freed.queue, queue_);
  EXPECT_EQ(freed.pointers, expected);
}

TEST_F(SvmCommandTest, FinishCoversFrees) {
  for (int round = 0; round < 20; ++round) {
    Freed freed;
    Shared<int> data(context_, 16);
    void* pointers[] = {data.detach()};
    check(clEnqueueSVMFree(queue_, 1, pointers, note_free, &freed, 0, nullptr, nullptr));
    check(clFinish(queue_));
    ASSERT_EQ(freed.calls, 1);
  }
}

void CL_CALLBACK take_time(cl_command_queue, cl_uint, void*[], void* user_data) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  static_cast<std::atomic<bool>*>(user_data)->store(true);
}

// What the client does itself comes before what the server does next.
TEST_F(SvmCommandTest, LaterCommandsWaitForAFree) {
  for (const cl_command_queue_properties order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    const Owned<cl_command_queue> queue = make_queue(context_, device(), order);
    std::atomic<bool> over = false;
    Shared<int> data(context_, 16);
    void* pointers[] = {data.get()};
    Owned<cl_event> freed, after;
    check(clEnqueueSVMFree(queue, 1, pointers, take_time, &over, 0, nullptr, freed.out()));
    // In order they do so by themselves.
    check(clEnqueueMarkerWithWaitList(queue, order != 0, order != 0 ? freed.pointer() : nullptr, after.out()));
    check(clWaitForEvents(1, after.pointer()));
    EXPECT_TRUE(over) << order;
    EXPECT_EQ(status(freed), CL_COMPLETE) << order;
  }
}

void CL_CALLBACK await_permission(cl_command_queue, cl_uint, void*[], void* user_data) {
  static_cast<std::promise<void>*>(user_data)->get_future().wait();
}

// In any order: without a wait list, both wait for everything before them.
TEST_F(SvmCommandTest, MarkersAndBarriersWaitForAFree) {
  for (const cl_command_queue_properties order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    for (const auto enqueue : {clEnqueueMarkerWithWaitList, clEnqueueBarrierWithWaitList}) {
      const bool is_barrier = enqueue == clEnqueueBarrierWithWaitList;
      const Owned<cl_command_queue> queue = make_queue(context_, device(), order);
      std::promise<void> permission;
      Shared<int> data(context_, 16);
      void* pointers[] = {data.get()};
      Owned<cl_event> freed, after;
      check(clEnqueueSVMFree(queue, 1, pointers, await_permission, &permission, 0, nullptr, freed.out()));
      check(enqueue(queue, 0, nullptr, after.out()));
      check(clFlush(queue));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_GT(status(after), CL_COMPLETE) << "order " << order << ", barrier " << is_barrier;
      permission.set_value();
      check(clWaitForEvents(1, after.pointer()));
      EXPECT_EQ(status(freed), CL_COMPLETE) << "order " << order << ", barrier " << is_barrier;
    }
  }
}

TEST_F(SvmCommandTest, FreeAfterAFailureFreesNothing) {
  const Shared<int> data(context_, 16);
  data.write(queue_, numbers(16));
  void* pointers[] = {data.get()};
  Freed freed;
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(clEnqueueSVMFree(queue_, 1, pointers, note_free, &freed, 1, gate.pointer(), done.out()));
  check(clSetUserEventStatus(gate, -5));
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_LT(status(done), 0);
  EXPECT_EQ(freed.calls, 0);
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS) << "the event has told of the failure";
  EXPECT_EQ(data.read(queue_), numbers(16));
}

TEST_F(SvmCommandTest, OtherServerWaitsForAFree) {
  Shared<int> data(context_, 16);
  void* pointers[] = {data.detach()};
  Freed freed;
  Owned<cl_event> done, marker;
  check(clEnqueueSVMFree(queue_, 1, pointers, note_free, &freed, 0, nullptr, done.out()));
  check(clEnqueueMarkerWithWaitList(other_, 1, done.pointer(), marker.out()));
  check(clWaitForEvents(1, marker.pointer()));
  EXPECT_EQ(freed.calls, 1);
}

TEST_F(SvmCommandTest, FreeHasTimes) {
  const Owned<cl_command_queue> queue = make_queue(context_, device(), CL_QUEUE_PROFILING_ENABLE);
  Shared<int> data(context_, 16);
  void* pointers[] = {data.detach()};
  Owned<cl_event> done;
  check(clEnqueueSVMFree(queue, 1, pointers, nullptr, nullptr, 0, nullptr, done.out()));
  check(clWaitForEvents(1, done.pointer()));
  EXPECT_GT(value<cl_ulong>(clGetEventProfilingInfo, done.get(), CL_PROFILING_COMMAND_END), 0u);
}

// No driver knows that a kernel uses the memory: the server must.
TEST_F(SvmCommandTest, MemoryOutlivesTheKernelsThatUseIt) {
  for (const bool held : {false, true}) {
    for (const bool release_queue : {false, true}) {
      Owned<cl_command_queue> queue = make_queue(context_, device());
      const Owned<cl_event> gate = make_user_event(context_);
      const Owned<cl_kernel> spin = kernel("spin");
      Shared<int> data(context_, 1u << 20);
      data.write(queue, std::vector<int>(1u << 20, 0));
      check(clSetKernelArgSVMPointer(spin, 0, data));
      check(set_arg(spin, 1, 200));
      Owned<cl_event> done;
      check(run(queue, spin, 1u << 20, held ? std::vector<cl_event>{gate} : std::vector<cl_event>{}, done.out()));
      check(clFlush(queue));
      clSVMFree(context_, data.detach());
      const Owned<cl_mem> other = make_buffer(context_, 64);
      check(set_arg(spin, 0, other));  // the kernel object does not keep it either
      if (release_queue) queue.reset();
      check(clFinish(queue_));  // the server has taken in all of it
      check(clSetUserEventStatus(gate, CL_COMPLETE));
      EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
    }
  }
  EXPECT_TRUE(Environment::get().daemon(0).running());
}

}  // namespace
}  // namespace remotecl::testing
