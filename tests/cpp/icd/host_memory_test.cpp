// The application's memory between commands: what a read brings there, and who waits for it.
#include <sys/mman.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <vector>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kCounts[] = {16, 4096, 50'000, 4u << 20};  // ints

class HostMemoryTest : public RemoteTest {
 protected:
  Owned<cl_command_queue> out_of_order(std::size_t index) {
    return make_queue(context_, device(index), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  }
  // A read that takes a while to be carried out, as its kernel does.
  Owned<cl_event> read_late(cl_command_queue queue, cl_mem buffer, std::vector<int>& to, int value) {
    if (spin_ == nullptr) {
      spin_ = kernel("spin");
      spun_ = make_buffer(context_, std::vector<int>(64, 0));
      check(set_arg(spin_, 0, spun_));
      check(set_arg(spin_, 1, 200'000));
    }
    const std::size_t size = to.size() * sizeof(int);
    Owned<cl_event> spun, filled, done;
    check(run(queue, spin_, 64, {}, spun.out()));
    check(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, size, 1, spun.pointer(), filled.out()));
    check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, to.data(), 1, filled.pointer(), done.out()));
    check(clFlush(queue));
    return done;
  }

 private:
  Owned<cl_kernel> spin_;
  Owned<cl_mem> spun_;
};

TEST_F(HostMemoryTest, WriteTakesWhatAReadBeforeItBrings) {
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(count, 0)),
                        to = make_buffer(context_, std::vector<int>(count, 0));
    std::vector<int> staging(count, -1);
    const std::size_t size = count * sizeof(int);
    for (int round = 1; round <= 6; ++round) {
      const Owned<cl_event> there = read_late(queue_, from, staging, round);
      const bool same_queue = round % 2 == 0;
      check(clEnqueueWriteBuffer(same_queue ? queue_ : other_, to, round % 3 == 0, 0, size, staging.data(), 1,
                                 there.pointer(), nullptr));
      check(clFinish(same_queue ? queue_ : other_));
      ASSERT_EQ(read<int>(other_, to, count), std::vector<int>(count, round)) << count;
    }
  }
}

TEST_F(HostMemoryTest, RectanglesToo) {
  const std::size_t width = 40, height = 300, pitch = 64;
  const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(pitch * height, 0)),
                      to = make_buffer(context_, std::vector<int>(width * height, 0));
  const std::size_t origin[3] = {}, region[3] = {width * 4, height, 1};
  for (int round = 1; round <= 6; ++round) {
    std::vector<int> staging(pitch * height, -1);
    const Owned<cl_event> there = read_late(queue_, from, staging, round);
    Owned<cl_event> written;
    check(clEnqueueWriteBufferRect(other_, to, CL_FALSE, origin, origin, region, width * 4, 0, pitch * 4, 0,
                                   staging.data(), 1, there.pointer(), written.out()));
    check(clWaitForEvents(1, written.pointer()));
    ASSERT_EQ(read<int>(other_, to, width * height), std::vector<int>(width * height, round));
  }
}

TEST_F(HostMemoryTest, LaterReadStays) {
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> first = make_buffer(context_, std::vector<int>(count, 0)),
                        second = make_buffer(context_, std::vector<int>(count, 5));
    for (int round = 0; round < 5; ++round) {
      std::vector<int> host(count, -1);
      const Owned<cl_event> there = read_late(queue_, first, host, 7);
      check(clEnqueueReadBuffer(other_, second, CL_TRUE, 0, count * 4, host.data(), 1, there.pointer(), nullptr));
      ASSERT_EQ(host, std::vector<int>(count, 5)) << count;
    }
  }
}

TEST_F(HostMemoryTest, EventsThatWaitForAReadEndAfterItsBytesAreThere) {
  const Owned<cl_command_queue> queues[] = {make_queue(context_, device(0)), make_queue(context_, device(1)),
                                            out_of_order(0), out_of_order(1)};
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(count, 0));
    for (const Owned<cl_command_queue>& queue : queues) {
      for (const int links : {1, 3}) {
        std::vector<int> host(count, -1);
        Owned<cl_event> last = read_late(queue_, from, host, 9);
        for (int i = 0; i < links; ++i) {
          Owned<cl_event> next;
          check(clEnqueueMarkerWithWaitList(queue, 1, last.pointer(), next.out()));
          last = std::move(next);
        }
        check(clWaitForEvents(1, last.pointer()));
        ASSERT_EQ(host, std::vector<int>(count, 9)) << count << ' ' << links;
      }
    }
  }
}

TEST_F(HostMemoryTest, BarrierAndFinishCoverReadsOfOtherQueues) {
  const Owned<cl_command_queue> queue = out_of_order(1);
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(count, 0));
    std::vector<int> host(count, -1);
    Owned<cl_event> after;
    const Owned<cl_event> there = read_late(queue_, from, host, 3);
    check(clEnqueueBarrierWithWaitList(queue, 1, there.pointer(), nullptr));
    const Owned<cl_mem> other = make_buffer(context_, std::vector<int>(16, 0));
    const int zero = 0;
    check(clEnqueueFillBuffer(queue, other, &zero, 4, 0, 64, 0, nullptr, after.out()));
    check(clWaitForEvents(1, after.pointer()));
    ASSERT_EQ(host, std::vector<int>(count, 3)) << count;

    const Owned<cl_event> again = read_late(queue_, from, host, 4);
    check(clEnqueueMarkerWithWaitList(other_, 1, again.pointer(), nullptr));
    check(clFinish(other_));
    ASSERT_EQ(host, std::vector<int>(count, 4)) << count;
  }
}

TEST_F(HostMemoryTest, MarkerForAllOfAnOutOfOrderQueueCoversItsReads) {
  const Owned<cl_command_queue> queue = out_of_order(0);
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(count, 0));
    for (int round = 1; round <= 4; ++round) {
      std::vector<int> host(count, -1);
      const Owned<cl_event> there = read_late(queue, from, host, round);
      Owned<cl_event> all;
      check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, all.out()));
      check(clWaitForEvents(1, all.pointer()));
      ASSERT_EQ(host, std::vector<int>(count, round)) << count;
    }
  }
}

TEST_F(HostMemoryTest, MapAfterAMigrationToTheHostKeepsWhatTheApplicationWrites) {
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(count, 0));
    for (int round = 1; round <= 4; ++round) {
      const int value = round;
      Owned<cl_event> filled, migrated, unmapped;
      check(clEnqueueFillBuffer(queue_, buffer, &value, 4, 0, count * 4, 0, nullptr, filled.out()));
      check(clEnqueueMigrateMemObjects(queue_, 1, buffer.pointer(), CL_MIGRATE_MEM_OBJECT_HOST, 1, filled.pointer(),
                                       migrated.out()));
      check(clFlush(queue_));
      const Owned<cl_command_queue> side = make_queue(context_, device(0));
      cl_int error = CL_SUCCESS;
      auto* data = static_cast<int*>(clEnqueueMapBuffer(side, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 64, 1,
                                                        migrated.pointer(), nullptr, &error));
      check(error);
      for (int i = 0; i < 16; ++i) data[i] = -round;
      check(clEnqueueUnmapMemObject(side, buffer, data, 0, nullptr, unmapped.out()));
      check(clWaitForEvents(1, unmapped.pointer()));
      std::vector<int> expected(count, round);
      std::fill_n(expected.begin(), 16, -round);
      ASSERT_EQ(read<int>(other_, buffer, count), expected) << count;
    }
  }
}

TEST_F(HostMemoryTest, PartOfABufferIsMigratedToTheHost) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(4096, 1));
  const Owned<cl_mem> part = make_sub_buffer(buffer, 1024 * sizeof(int), 2048 * sizeof(int));
  const int value = 7;
  check(clEnqueueFillBuffer(queue_, part, &value, sizeof value, 0, 1024 * sizeof(int), 0, nullptr, nullptr));
  check(clEnqueueMigrateMemObjects(queue_, 1, part.pointer(), CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr));
  check(clFinish(queue_));
  std::vector<int> expected(2048, 1);
  std::fill_n(expected.begin(), 1024, 7);
  EXPECT_EQ(read<int>(other_, part, 2048), expected);
}

// Programs unmap, release and free without waiting.
TEST_F(HostMemoryTest, MemoryOfAReleasedBufferMayBeFreed) {
  for (const bool is_awaiting : {false, true}) {
    for (const std::size_t count : kCounts) {
      const std::size_t size = count * sizeof(int);
      int* const memory =
          static_cast<int*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      ASSERT_NE(memory, MAP_FAILED);
      const Owned<cl_mem> copy = make_buffer(context_, size);
      const Owned<cl_event> gate = make_user_event(context_);
      cl_int error = 0;
      Owned<cl_mem> buffer(clCreateBuffer(context_, CL_MEM_USE_HOST_PTR, size, memory, &error));
      check(error);
      void* const mapped = clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, size, 0,
                                              nullptr, nullptr, &error);
      check(error);
      ASSERT_EQ(mapped, memory);
      std::iota(memory, memory + count, 1);
      check(clEnqueueUnmapMemObject(queue_, buffer, mapped, is_awaiting ? 1 : 0, is_awaiting ? gate.pointer() : nullptr,
                                    nullptr));
      check(clEnqueueCopyBuffer(queue_, buffer, copy, 0, 0, size, 0, nullptr, nullptr));
      check(clFlush(queue_));
      buffer = {};
      std::fill(memory, memory + count, -1);
      ::munmap(memory, size);
      check(clSetUserEventStatus(gate, CL_COMPLETE));
      ASSERT_EQ(read<int>(queue_, copy, count), numbers(count, 1)) << count;
    }
  }
}

// The buffer's first use sends the application's bytes, and a destructor callback says when that is over.
TEST_F(HostMemoryTest, DestructorCallbackComesWhenNothingReadsTheMemory) {
  const std::size_t count = 4u << 20, size = count * sizeof(int);
  std::vector<int> memory = numbers(count, 3);
  const Owned<cl_mem> copy = make_buffer(context_, size);
  const Owned<cl_event> gate = make_user_event(context_);
  std::promise<void> freed;
  {
    cl_int error = 0;
    const Owned<cl_mem> buffer(clCreateBuffer(context_, CL_MEM_USE_HOST_PTR, size, memory.data(), &error));
    check(error);
    const auto free = [](cl_mem, void* of) { static_cast<std::promise<void>*>(of)->set_value(); };
    check(clSetMemObjectDestructorCallback(buffer, free, &freed));
    check(clEnqueueCopyBuffer(queue_, buffer, copy, 0, 0, size, 1, gate.pointer(), nullptr));
    check(clFlush(queue_));
  }
  freed.get_future().wait();
  std::fill(memory.begin(), memory.end(), -1);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(read<int>(queue_, copy, count) == numbers(count, 3));
}

}  // namespace
}  // namespace remotecl::testing
