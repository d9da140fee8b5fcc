// Reads, writes, copies and fills of whole ranges.
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

class TransferTest : public RemoteTest {};

constexpr std::size_t kBulk = 32u << 20;  // travels outside its command
constexpr std::size_t kOne[] = {1};

TEST_F(TransferTest, FinishCoversReadsThatHaveNoEvent) {
  for (const std::size_t size : {std::size_t{4096}, kBulk}) {
    const Owned<cl_mem> buffer = make_buffer(context_, size);
    const Owned<cl_kernel> add = kernel("add");
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    const int zero = 0;
    check(clEnqueueFillBuffer(queue_, buffer, &zero, sizeof zero, 0, size, 0, nullptr, nullptr));
    std::vector<int> host(size / sizeof(int));
    const int rounds = size == kBulk ? 10 : 500;
    for (int round = 1; round <= rounds; ++round) {
      check(run(queue_, add, host.size()));
      check(clEnqueueReadBuffer(queue_, buffer, CL_FALSE, 0, size, host.data(), 0, nullptr, nullptr));
      ASSERT_EQ(clFinish(queue_), CL_SUCCESS);
      ASSERT_EQ(host.back(), round) << "after clFinish of a read of " << size << " bytes";
      ASSERT_EQ(host.front(), round);
    }
  }
}

TEST_F(TransferTest, LaterEventOfAnInOrderQueueCoversReadsBeforeIt) {
  for (const std::size_t size : {std::size_t{4096}, kBulk}) {
    const Owned<cl_mem> buffer = make_buffer(context_, size);
    std::vector<int> host(size / sizeof(int));
    const int rounds = size == kBulk ? 10 : 500;
    for (int round = 1; round <= rounds; ++round) {
      check(clEnqueueFillBuffer(queue_, buffer, &round, sizeof round, 0, size, 0, nullptr, nullptr));
      check(clEnqueueReadBuffer(queue_, buffer, CL_FALSE, 0, size, host.data(), 0, nullptr, nullptr));
      Owned<cl_event> marker;
      check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
      ASSERT_EQ(clWaitForEvents(1, marker.pointer()), CL_SUCCESS);
      ASSERT_EQ(host.back(), round) << "after the marker behind a read of " << size << " bytes";
    }
  }
}

TEST_F(TransferTest, BlockingCallCoversReadsBeforeItOnTheQueue) {
  const Owned<cl_mem> buffer = make_buffer(context_, kBulk);
  std::vector<int> host(kBulk / sizeof(int));
  for (int round = 1; round <= 10; ++round) {
    check(clEnqueueFillBuffer(queue_, buffer, &round, sizeof round, 0, kBulk, 0, nullptr, nullptr));
    check(clEnqueueReadBuffer(queue_, buffer, CL_FALSE, 0, kBulk, host.data(), 0, nullptr, nullptr));
    ASSERT_EQ(read<int>(queue_, buffer, 1)[0], round);
    ASSERT_EQ(host.back(), round);
  }
}

TEST_F(TransferTest, EventOfAReadEndsWhenTheBytesAreThere) {
  const Owned<cl_mem> buffer = make_buffer(context_, kBulk);
  std::vector<int> host(kBulk / sizeof(int));
  for (int round = 1; round <= 5; ++round) {
    check(clEnqueueFillBuffer(queue_, buffer, &round, sizeof round, 0, kBulk, 0, nullptr, nullptr));
    Owned<cl_event> done;
    check(clEnqueueReadBuffer(queue_, buffer, CL_FALSE, 0, kBulk, host.data(), 0, nullptr, done.out()));
    while (status(done) > CL_COMPLETE) {
    }
    ASSERT_EQ(status(done), CL_COMPLETE);
    ASSERT_EQ(host.back(), round);
  }
}

TEST_F(TransferTest, BlockingWriteLeavesTheMemoryToTheApplication) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{100'000}, kBulk}) {
    std::vector<unsigned char> host(size, 1);
    const Owned<cl_mem> buffer = make_buffer(context_, size);
    check(clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, size, host.data(), 0, nullptr, nullptr));
    std::memset(host.data(), 2, size);
    EXPECT_EQ(read<unsigned char>(queue_, buffer, size), std::vector<unsigned char>(size, 1)) << size;
  }
}

// As small ones do: the bytes are on their way, however long the commands before it take.
TEST_F(TransferTest, BlockingWriteOfAMebibyteWaitsForNothing) {
  constexpr std::size_t kMebibyte = 1u << 20;
  const Owned<cl_mem> buffer = make_buffer(context_, kMebibyte), other = make_buffer(context_, 64);
  const Owned<cl_kernel> spin = kernel("spin");
  check(set_arg(spin, 0, other));
  cl_device_type type = 0;
  check(clGetDeviceInfo(device(), CL_DEVICE_TYPE, sizeof type, &type, nullptr));
  check(set_arg(spin, 1, type == CL_DEVICE_TYPE_CPU ? 1'000'000'000 : 20'000'000));  // some seconds at most
  Owned<cl_event> spun;
  check(clEnqueueNDRangeKernel(queue_, spin, 1, nullptr, kOne, nullptr, 0, nullptr, spun.out()));
  std::atomic<bool> has_spun = false;
  const auto note = [](cl_event, cl_int, void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
  check(clSetEventCallback(spun, CL_COMPLETE, note, &has_spun));
  check(clFlush(queue_));
  for (char value = 1; value <= 4; ++value) {
    std::vector<char> host(kMebibyte, value);
    check(clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, kMebibyte, host.data(), 0, nullptr, nullptr));
    std::fill(host.begin(), host.end(), char{99});
  }
  EXPECT_FALSE(has_spun);
  EXPECT_EQ(read<char>(queue_, buffer, kMebibyte), std::vector<char>(kMebibyte, 4));
  while (!has_spun) std::this_thread::yield();
}

TEST_F(TransferTest, ManySizesAndOffsetsComeBack) {
  constexpr std::size_t kSize = 3u << 20;
  std::vector<unsigned char> model(kSize);
  for (std::size_t i = 0; i < kSize; ++i) model[i] = static_cast<unsigned char>(i * 31 + i / 251);
  const Owned<cl_mem> buffer = make_buffer(context_, model);
  const std::size_t sizes[] = {1, 3, 63, 64, 65, 1023, 4095, 4096, 4097, 65535, 65536, 65537, 1u << 20, (1u << 20) + 1};
  for (const std::size_t size : sizes) {
    const std::size_t offset = size * 7 % 4099;
    for (std::size_t i = 0; i < size; ++i) model[offset + i] ^= 0x5a;
    check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, offset, size, model.data() + offset, 0, nullptr, nullptr));
    const std::size_t from = offset / 2;
    EXPECT_EQ(read<unsigned char>(queue_, buffer, size + 17, from),
              std::vector<unsigned char>(model.begin() + from, model.begin() + from + size + 17))
        << size;
  }
  EXPECT_TRUE(read<unsigned char>(queue_, buffer, kSize) == model);
}

TEST_F(TransferTest, FillWithEveryPatternSize) {
  constexpr std::size_t kSize = 4096;
  for (std::size_t pattern_size = 1; pattern_size <= 128; pattern_size *= 2) {
    std::vector<unsigned char> model(kSize, 0xee);
    const Owned<cl_mem> buffer = make_buffer(context_, model);
    std::vector<unsigned char> pattern(pattern_size);
    for (std::size_t i = 0; i < pattern_size; ++i) pattern[i] = static_cast<unsigned char>(i + pattern_size);
    const std::size_t offset = pattern_size * 3, size = pattern_size * 5;
    ASSERT_EQ(clEnqueueFillBuffer(queue_, buffer, pattern.data(), pattern_size, offset, size, 0, nullptr, nullptr),
              CL_SUCCESS);
    pattern.assign(pattern_size, 0);  // the command has its own copy
    for (std::size_t i = 0; i < size; ++i) {
      model[offset + i] = static_cast<unsigned char>(i % pattern_size + pattern_size);
    }
    EXPECT_EQ(read<unsigned char>(queue_, buffer, kSize), model) << pattern_size;
  }
}

TEST_F(TransferTest, CopyBetweenAndWithinBuffers) {
  const Owned<cl_mem> from = make_buffer(context_, numbers(1024));
  const Owned<cl_mem> to = make_buffer(context_, std::vector<int>(1024, -1));
  check(clEnqueueCopyBuffer(queue_, from, to, 100 * 4, 10 * 4, 500 * 4, 0, nullptr, nullptr));
  check(clEnqueueCopyBuffer(queue_, to, to, 10 * 4, 600 * 4, 200 * 4, 0, nullptr, nullptr));
  std::vector<int> model(1024, -1);
  std::iota(model.begin() + 10, model.begin() + 510, 100);
  std::copy(model.begin() + 10, model.begin() + 210, model.begin() + 600);
  EXPECT_EQ(read<int>(queue_, to, 1024), model);
}

// As pieces of a divided kernel have it: one part moves while another one is being worked on, at both ends.
TEST_F(TransferTest, TheyWaitOnlyForCommandsOnTheSameBytes) {
  constexpr std::size_t kPart = 1 << 16;
  const Owned<cl_mem> whole = make_buffer(context_, numbers(2 * kPart));
  const Owned<cl_mem> parts[] = {make_sub_buffer(whole, 0, kPart * sizeof(int)),
                                 make_sub_buffer(whole, kPart * sizeof(int), kPart * sizeof(int))};
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, parts[1]));
  check(set_arg(add, 1, 1));
  check(run(queue_, add, kPart));
  check(clFinish(queue_));
  // From here on both devices have a command on the first part that does not begin.
  const Owned<cl_event> gate = make_user_event(context_);
  const Owned<cl_command_queue> beside = make_queue(context_, device(1));
  check(set_arg(add, 0, parts[0]));
  check(run(queue_, add, kPart, {gate}));
  check(run(beside, add, kPart, {gate}));
  Owned<cl_event> moved;
  check(set_arg(add, 0, parts[1]));
  check(run(other_, add, kPart, {}, moved.out()));
  auto waiting = std::async(std::launch::async, [&] { return clWaitForEvents(1, moved.pointer()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready) << "it waits for the other part";
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(waiting.get(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, whole, 2 * kPart), numbers(2 * kPart, 2));
}

}  // namespace
}  // namespace remotecl::testing
