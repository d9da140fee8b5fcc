// REMOTECL_HOST_POINTERS=coherent: the application touches the memory of its buffers without mapping them.
#include <cstdlib>
#include <random>
#include <thread>

#include "icd/coherent_host_memory_fixture.h"

namespace remotecl::testing {
namespace {

// What a program does on a driver of a processor, and with the remote platform just so.
std::vector<int> numbers_after(cl_device_id device) {
  const Owned<cl_context> context = make_context({device});
  const Owned<cl_command_queue> queue = make_queue(context, device);
  const Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  alignas(4096) static int memory[4096];
  std::fill(std::begin(memory), std::end(memory), 5);
  std::vector<int> seen;
  {
    const Owned<cl_mem> buffer = make_buffer(context, sizeof memory, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory);
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1000));
    check(run(queue, add, std::size(memory)));
    check(clFinish(queue));
    seen.push_back(memory[0]);
    memory[7] = 1;
    check(run(queue, add, std::size(memory)));
    check(clFinish(queue));
    seen.insert(seen.end(), {memory[0], memory[7], memory[4095]});
  }
  return seen;
}

TEST_F(CoherentHostMemoryTest, IsAsOnTheDriverOfAProcessor) {
  EXPECT_EQ(numbers_after(device()), (std::vector<int>{1005, 2005, 1001, 2005}));
  const cl_device_id native = Environment::get().native_device();
  if (native == nullptr || !Environment::get().is_pocl()) GTEST_SKIP() << "no driver to compare with";
  EXPECT_EQ(numbers_after(device()), numbers_after(native));
}

TEST_F(CoherentHostMemoryTest, WhateverTheApplicationWaitsWith) {
  std::vector<int> memory(5000, 5);
  const Owned<cl_mem> buffer = over(memory), other = make_buffer(context_, std::vector<int>(4));
  const auto expect = [&memory](int value) { EXPECT_EQ(memory, std::vector<int>(5000, value)); };
  add(queue_, buffer, 5000, 1);
  check(clFinish(queue_));
  expect(6);
  Owned<cl_event> event;
  add(queue_, buffer, 5000, 1, {}, event.out());
  check(clWaitForEvents(1, event.pointer()));
  expect(7);
  add(queue_, buffer, 5000, 1);
  read<int>(queue_, other, 4);
  expect(8);
  add(queue_, buffer, 5000, 1);
  const int value = 0;
  check(clEnqueueWriteBuffer(queue_, other, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
  expect(9);
  add(queue_, buffer, 5000, 1);
  cl_int error = CL_SUCCESS;
  void* const mapped = clEnqueueMapBuffer(queue_, other, CL_TRUE, CL_MAP_READ, 0, 16, 0, nullptr, nullptr, &error);
  check(error);
  expect(10);
  check(clEnqueueUnmapMemObject(queue_, other, mapped, 0, nullptr, nullptr));
  add(queue_, buffer, 5000, 1, {}, event.out());
  check(clFlush(queue_));
  while (status(event) != CL_COMPLETE) std::this_thread::yield();
  expect(11);
}

TEST_F(CoherentHostMemoryTest, OtherCommandsReadAndWriteItToo) {
  std::vector<int> memory(300'000, 1), other(300'000, 2);
  const Owned<cl_mem> buffer = over(memory), second = over(other), plain = make_buffer(context_, memory);
  const std::size_t size = memory.size() * 4;
  memory[9] = 90;
  check(clEnqueueCopyBuffer(queue_, buffer, second, 0, 0, size, 0, nullptr, nullptr));
  check(clFinish(queue_));
  EXPECT_EQ(other, memory);
  const int three = 3;
  check(clEnqueueFillBuffer(queue_, buffer, &three, 4, 400, 4000, 0, nullptr, nullptr));
  memory[299'999] = 4;
  EXPECT_EQ(read<int>(queue_, buffer, 1, 4 * 299'999), std::vector<int>{4});
  EXPECT_EQ(memory[100], 3);
  EXPECT_EQ(memory[99], 1);
  EXPECT_EQ(memory[1100], 1);
  check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, size, other.data(), 0, nullptr, nullptr));
  check(clFinish(queue_));
  EXPECT_EQ(memory, other);
  memory[5] = 50;
  EXPECT_EQ(read<int>(queue_, buffer, memory.size()), memory);
}

TEST_F(CoherentHostMemoryTest, HostAndCommandWriteSideBySide) {
  std::vector<int> memory(8192, 0);
  const Owned<cl_mem> buffer = over(memory), front = make_sub_buffer(buffer, 0, 16384);
  const Owned<cl_event> gate = make_user_event(context_);
  add(queue_, buffer, 4096, 1, {gate});
  memory[5000] = 7;
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[5000], 7);
  memory[5001] = 8;
  add(queue_, front, 4096, 1);
  add(queue_, buffer, 8192, 1);
  check(clFinish(queue_));
  EXPECT_EQ(memory[0], 3);
  EXPECT_EQ(memory[5000], 8);
  EXPECT_EQ(memory[5001], 9);
}

TEST_F(CoherentHostMemoryTest, WaitsForNoCommandThatWasNotWaitedFor) {
  std::vector<int> memory(8192, 0), elsewhere(64, 0);
  const Owned<cl_mem> buffer = over(memory), far = over(elsewhere);
  const Owned<cl_mem> halves[] = {make_sub_buffer(buffer, 0, 16384), make_sub_buffer(buffer, 16384, 16384)};
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> first;
  add(queue_, halves[0], 4096, 1, {}, first.out());
  add(queue_, halves[1], 4096, 1, {gate});
  add(other_, far, 64, 1, {gate});
  check(clWaitForEvents(1, first.pointer()));
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[4096], 0);
  const Owned<cl_command_queue> third = make_queue(context_, device(0));
  check(clFinish(third));
  EXPECT_EQ(elsewhere[0], 0);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(memory[4096], 1);
  check(clFinish(other_));
  EXPECT_EQ(elsewhere[0], 1);
}

TEST_F(CoherentHostMemoryTest, TheEndOfOneQueueTellsOfAnothers) {
  for (const bool in_order : {true, false}) {
    std::vector<int> memory(8192, 0);
    const Owned<cl_mem> buffer = over(memory), other = make_buffer(context_, std::vector<int>(64, 0));
    const Owned<cl_command_queue> queue =
        make_queue(context_, device(0), in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    Owned<cl_event> ended;
    add(queue, buffer, 8192, 1);
    check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, ended.out()));
    check(clFlush(queue));
    add(other_, other, 64, 1, {ended});
    check(clFinish(other_));
    EXPECT_EQ(memory, std::vector<int>(8192, 1));
  }
}

TEST_F(CoherentHostMemoryTest, AChainOverThreeQueuesTellsToo) {
  std::vector<int> memory(8192, 0);
  const Owned<cl_mem> buffer = over(memory), other = make_buffer(context_, std::vector<int>(64, 0));
  const Owned<cl_command_queue> out_of_order = make_queue(context_, device(0), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  Owned<cl_event> first, second, third;
  add(out_of_order, buffer, 8192, 1, {}, first.out());
  add(out_of_order, other, 64, 1, {first}, second.out());
  check(clFlush(out_of_order));
  check(clEnqueueMarkerWithWaitList(queue_, 1, second.pointer(), third.out()));
  check(clFlush(queue_));
  add(other_, other, 64, 1, {third});
  check(clFinish(other_));
  EXPECT_EQ(memory, std::vector<int>(8192, 1));
}

TEST_F(CoherentHostMemoryTest, SeveralServersShareIt) {
  std::vector<int> memory(100'000, 0);
  const Owned<cl_mem> buffer = over(memory);
  for (int round = 0; round < 3; ++round) {
    Owned<cl_event> first;
    memory[17] += 100;
    add(queue_, buffer, memory.size(), 1, {}, first.out());
    check(clFlush(queue_));
    add(other_, buffer, memory.size(), 1, {first});
    check(clFinish(other_));
    EXPECT_EQ(memory[0], 2 * (round + 1));
    EXPECT_EQ(memory[17], 102 * (round + 1));
    EXPECT_EQ(memory[99'999], 2 * (round + 1));
  }
}

TEST_F(CoherentHostMemoryTest, OnlyWhatHasChangedTravels) {
  std::vector<int> memory(4u << 20, 0);
  const Owned<cl_mem> buffer = over(memory), part = make_sub_buffer(buffer, 0, 4096);
  add(queue_, buffer, 64, 1);
  check(clFinish(queue_));
  const auto [sent, received] = traffic();
  for (int round = 0; round < 10; ++round) {
    memory[100] = memory[3'000'000] = round;
    add(queue_, part, 1024, 1);
    EXPECT_EQ(read<int>(queue_, buffer, 1, 12'000'000), std::vector<int>{round});
    EXPECT_EQ(memory[100], round + 1);
  }
  const auto [sent_then, received_then] = traffic();
  EXPECT_LT(sent_then - sent, 20'000u);
  EXPECT_LT(received_then - received, 100'000u);
}

// Programs that read a buffer into its own memory, or write it from there, to be sure.
TEST_F(CoherentHostMemoryTest, ReadingAndWritingItselfMovesNothingTwice) {
  std::vector<int> memory(1u << 20, 1);
  const std::size_t size = memory.size() * 4;
  const Owned<cl_mem> buffer = over(memory), part = make_sub_buffer(buffer, 4096, 4096);
  add(queue_, buffer, memory.size(), 1);
  check(clFinish(queue_));
  const auto [sent, received] = traffic();
  add(queue_, buffer, memory.size(), 1);
  check(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, size, memory.data(), 0, nullptr, nullptr));
  EXPECT_EQ(memory, std::vector<int>(1u << 20, 3));
  memory[7] = 70;
  check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, size, memory.data(), 0, nullptr, nullptr));
  check(clEnqueueWriteBuffer(queue_, part, CL_TRUE, 400, 40, memory.data() + 1124, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(queue_, buffer, 2, 28), (std::vector<int>{70, 3}));
  Owned<cl_event> there;
  add(queue_, part, 1024, 1);
  check(clEnqueueReadBuffer(queue_, part, CL_FALSE, 0, 4096, memory.data() + 1024, 0, nullptr, there.out()));
  check(clWaitForEvents(1, there.pointer()));
  EXPECT_EQ(memory[1024], 4);
  EXPECT_EQ(memory[2047], 4);
  EXPECT_EQ(memory[2048], 3);
  const auto [sent_then, received_then] = traffic();
  EXPECT_LT(sent_then - sent, 20'000u);
  EXPECT_LT(received_then - received, size + 100'000);
}

TEST_F(CoherentHostMemoryTest, ReadOnlyBuffersDoNotComeBack) {
  std::vector<int> memory(1u << 20, 3), results(1u << 20, 0);
  const Owned<cl_mem> from = over(memory, CL_MEM_READ_ONLY), to = make_buffer(context_, memory.size() * 4);
  const Owned<cl_kernel> twice = kernel("twice");
  check(set_arg(twice, 0, from));
  check(set_arg(twice, 1, to));
  const std::uint64_t received = traffic().second;
  for (int round = 0; round < 3; ++round) {
    memory[round] = round;
    check(run(queue_, twice, memory.size()));
    check(clFinish(queue_));
  }
  EXPECT_LT(traffic().second - received, 100'000u);
  EXPECT_EQ(read<int>(queue_, to, 4), (std::vector<int>{0, 2, 4, 6}));
}

TEST_F(CoherentHostMemoryTest, MappingAndMigratingStayWhatTheyAre) {
  std::vector<int> memory(20'000, 1);
  const Owned<cl_mem> buffer = over(memory);
  const std::size_t size = memory.size() * 4;
  cl_mem object = buffer;
  memory[1] = 10;
  add(queue_, buffer, memory.size(), 1);
  cl_int error = CL_SUCCESS;
  auto* mapped = static_cast<int*>(
      clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &error));
  check(error);
  EXPECT_EQ(mapped, memory.data());
  EXPECT_EQ(memory[0], 2);
  EXPECT_EQ(memory[1], 11);
  memory[2] = 20;
  check(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
  add(queue_, buffer, memory.size(), 1);
  check(clEnqueueMigrateMemObjects(queue_, 1, &object, CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr));
  add(queue_, buffer, memory.size(), 1);
  add(queue_, buffer, memory.size(), 1);
  check(clFinish(queue_));
  EXPECT_EQ(memory[0], 5);
  EXPECT_EQ(memory[1], 14);
  EXPECT_EQ(memory[2], 23);
}

TEST_F(CoherentHostMemoryTest, WhatAContentSizeLeavesOutStays) {
  std::vector<int> memory(1u << 18, 1);
  const Owned<cl_mem> buffer = over(memory), size = make_buffer(context_, std::vector<cl_ulong>{4096});
  check(library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size")(buffer, size));
  add(queue_, buffer, memory.size(), 1);
  check(clFinish(queue_));
  EXPECT_EQ(memory[0], 2);
  EXPECT_EQ(memory[1023], 2);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](int each) { return each == 1 || each == 2; }));
}

TEST_F(CoherentHostMemoryTest, WhatAContentSizeLeavesOutComesWhenItGrows) {
  std::vector<int> memory(1u << 18, 1);
  const Owned<cl_mem> buffer = over(memory), size = make_buffer(context_, std::vector<cl_ulong>{4096});
  add(queue_, buffer, memory.size(), 1);
  check(library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size")(buffer, size));
  check(clFinish(queue_));
  EXPECT_EQ(memory[1024], 1);
  const cl_ulong whole = memory.size() * sizeof(int);
  check(clEnqueueWriteBuffer(queue_, size, CL_FALSE, 0, sizeof whole, &whole, 0, nullptr, nullptr));
  check(clFinish(queue_));
  EXPECT_EQ(memory, std::vector<int>(memory.size(), 2));
}

// Commands one after the other on two servers, and the host in between where it has waited.
TEST_F(CoherentHostMemoryTest, RandomCommandsLeaveWhatAModelHas) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::size_t kCount = 16384, kPiece = 1024;  // ints; a piece is aligned as sub-buffers have to be
  std::vector<int> memory(kCount, 0), second(kCount, 0), model = memory, second_model = second;
  const Owned<cl_mem> buffer = over(memory), target = over(second);
  std::vector<Owned<cl_mem>> pieces;
  for (std::size_t at = 0; at < kCount; at += kPiece) pieces.push_back(make_sub_buffer(buffer, at * 4, kPiece * 4));
  Owned<cl_event> last;
  for (int step = 0; step < 600; ++step) {
    const cl_command_queue queue = random() % 2 == 0 ? queue_ : other_;
    const std::size_t piece = random() % pieces.size(), at = piece * kPiece;
    const std::vector<cl_event> wait = last == nullptr ? std::vector<cl_event>() : std::vector<cl_event>{last};
    const auto count = static_cast<cl_uint>(wait.size());
    const cl_event* const list = wait.empty() ? nullptr : wait.data();
    const int value = static_cast<int>(random() % 100);
    Owned<cl_event> next;
    switch (random() % 6) {
      case 0:
        add(queue, pieces[piece], kPiece, value, wait, next.out());
        for (std::size_t i = at; i < at + kPiece; ++i) model[i] += value;
        break;
      case 1:
        add(queue, buffer, kCount, value, wait, next.out());
        for (int& each : model) each += value;
        break;
      case 2:
        check(clEnqueueFillBuffer(queue, buffer, &value, 4, 4 * at, 400, count, list, next.out()));
        std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(at), 100, value);
        break;
      case 3:
        check(clEnqueueCopyBuffer(queue, buffer, target, 4 * at, 0, kPiece * 4, count, list, next.out()));
        std::copy_n(model.begin() + static_cast<std::ptrdiff_t>(at), kPiece, second_model.begin());
        break;
      default:
        check(last == nullptr     ? CL_SUCCESS
              : random() % 2 == 0 ? clWaitForEvents(1, last.pointer())
                                  : clFinish(queue_) | clFinish(other_));
        ASSERT_EQ(memory, model) << "step " << step;
        ASSERT_EQ(second, second_model) << "step " << step;
        for (std::size_t i = random() % 40; i > 0; --i) {
          const std::size_t index = random() % kCount;
          memory[index] = model[index] = static_cast<int>(random() % 1'000'000);
        }
        continue;
    }
    check(clFlush(queue));
    last = std::move(next);
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::setenv("REMOTECL_HOST_POINTERS", "Coherent", 1);
  ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);  // what passes through it is counted in blocks
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(2));
  return RUN_ALL_TESTS();
}
