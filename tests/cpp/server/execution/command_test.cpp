#include "server/execution/driver_backlog.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

TEST_F(CommandTest, KernelRunsAndIsReadBack) {
  add(5);
  add(7);
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 16), std::vector<int>(16, 12));
}

TEST_F(CommandTest, ArgumentsStayUntilTheyChange) {
  add(5);
  client_.enqueue(queue_, add_, 16, {});
  const int hundred = 100;
  const KernelArgument changed[] = {value_argument(1, hundred)};
  client_.enqueue(queue_, add_, 8, changed);
  const auto values = client_.read<int>(queue_, buffer_, 16);
  EXPECT_EQ(values[7], 110);
  EXPECT_EQ(values[8], 10);
}

TEST_F(CommandTest, BadArgumentFailsUntilItIsSetWell) {
  const char narrow = 1;
  const KernelArgument bad[] = {memory_argument(0, buffer_), value_argument(1, narrow)};
  client_.enqueue(queue_, add_, 16, bad, 1000);
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_INVALID_ARG_SIZE);
  client_.enqueue(queue_, add_, 16, {}, 1001);
  client_.flush();
  EXPECT_EQ(failure_of(1001), CL_INVALID_ARG_SIZE);
  add(3);
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 1)[0], 3);
  const int value = 1;
  const KernelArgument beyond[] = {value_argument(2, value)};
  client_.enqueue(queue_, add_, 16, beyond, 1002);
  client_.flush();
  EXPECT_EQ(failure_of(1002), CL_INVALID_ARG_INDEX);
}

TEST_F(CommandTest, KernelWithoutArgumentsFails) {
  const ObjectId kernel = client_.make_kernel(program_, "copy");
  client_.enqueue(queue_, kernel, 16, {}, 1000);
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_INVALID_KERNEL_ARGS);
}

TEST_F(CommandTest, KernelWithReleasedBufferFails) {
  add(1);
  client_.finish(queue_);
  client_.add(ReleaseBuffer{buffer_});
  client_.enqueue(queue_, add_, 16, {}, 1000);
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_INVALID_KERNEL_ARGS);
}

TEST_F(CommandTest, UnknownObjectsAreErrorsOfTheCommand) {
  client_.enqueue(queue_, 777, 1, {}, 1000);
  client_.add(EnqueueCopy{queue_, 1001, buffer_, 777, 0, 0, 4, {}});
  client_.add(EnqueueRead{queue_, 1002, 777, 0, 4, client_.id(), {}});
  const ObjectId kernel = client_.make_kernel(program_, "no such kernel");
  client_.enqueue(queue_, kernel, 1, {}, 1003);
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_INVALID_KERNEL);
  EXPECT_EQ(failure_of(1001), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(failure_of(1002), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client_.event_status(1002), CL_INVALID_MEM_OBJECT) << "reads report without being asked";
  EXPECT_EQ(failure_of(1003), CL_INVALID_KERNEL_NAME);
  client_.finish(queue_);
}

TEST_F(CommandTest, RangesOutsideTheBufferAreRefused) {
  const std::uint64_t huge = ~std::uint64_t{0};
  client_.add(EnqueueRead{queue_, 1000, buffer_, 1, 64, client_.id(), {}});
  client_.add(EnqueueRead{queue_, 1001, buffer_, huge, 2, client_.id(), {}});
  client_.add(EnqueueWrite{queue_, 1002, buffer_, 32, huge, client_.id(), {}, {}});
  client_.add(EnqueueCopy{queue_, 1003, buffer_, buffer_, huge - 3, 0, 4, {}});
  client_.add(EnqueueReadRect{queue_, 1004, buffer_, {0, 0, 0}, {huge, 2, 1}, 0, 0, client_.id(), {}});
  client_.add(EnqueueReadRect{queue_, 1005, buffer_, {0, 1, huge}, {4, 4, 1}, 8, 0, client_.id(), {}});
  client_.add(EnqueueFill{queue_, 1006, buffer_, 61, 4, as_bytes("abcd"), {}});
  client_.flush();
  for (EventId event = 1000; event <= 1006; ++event) EXPECT_EQ(failure_of(event), CL_INVALID_VALUE) << event;
}

TEST_F(CommandTest, AbsurdBufferIsAnErrorOfTheCommandThatNeedsIt) {
  const ObjectId buffer = client_.make_buffer(std::uint64_t{1} << 60);
  client_.add(EnqueueFill{queue_, 1000, buffer, 0, 4, as_bytes("abcd"), {}});
  client_.flush();
  EXPECT_EQ(failure_of(1000), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  client_.finish(queue_);
}

TEST_F(CommandTest, FillCopyAndSubBuffer) {
  const ObjectId other = client_.make_buffer(64), part = client_.id();
  client_.add(CreateSubBuffer{part, other, 1, 0, 16});
  const int pattern = 9;
  client_.add(EnqueueFill{queue_, 0, buffer_, 0, 64, std::as_bytes(std::span(&pattern, 1)), {}});
  client_.write<int>(queue_, other, std::vector<int>(16, 1));
  client_.add(EnqueueCopy{queue_, 0, buffer_, part, 0, 8, 8, {}});
  const auto values = client_.read<int>(queue_, other, 6);
  EXPECT_EQ(values, (std::vector<int>{1, 1, 9, 9, 1, 1}));
}

TEST_F(CommandTest, RectanglesTravelPacked) {
  std::vector<std::uint8_t> bytes(72);
  for (int i = 0; i < 72; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const ObjectId buffer = client_.make_buffer(72);
  client_.write<std::uint8_t>(queue_, buffer, bytes);
  const TransferId transfer = client_.id();
  client_.send(EnqueueReadRect{queue_, client_.id(), buffer, {2, 1, 1}, {3, 2, 2}, 8, 24, transfer, {}});
  const auto data = client_.wait<ReadData>([&](const ReadData& read) { return read.transfer == transfer; });
  std::vector<int> got;
  for (const std::byte byte : data->data) got.push_back(static_cast<int>(byte));
  // (x, y, z) is the byte at x + 8 y + 24 z.
  EXPECT_EQ(got, (std::vector<int>{34, 35, 36, 42, 43, 44, 58, 59, 60, 66, 67, 68}));
}

TEST_F(CommandTest, SmallWritesKeepTheirBytesHoweverManyAreInFlight) {
  // More than one arena block, each byte written before its message is gone from the receive buffer.
  const ObjectId buffer = client_.make_buffer(4096 * 1000);
  for (int i = 0; i < 1000; ++i) {
    client_.write<int>(queue_, buffer, std::vector<int>(1024, i), 0, {}, std::uint64_t{4096} * i);
  }
  const ObjectId out_of_order = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const ObjectId other = client_.make_buffer(4096 * 1000);
  for (int i = 0; i < 1000; ++i) {
    client_.write<int>(out_of_order, other, std::vector<int>(1024, i), 0, {}, std::uint64_t{4096} * i);
  }
  client_.finish(queue_);
  client_.finish(out_of_order);
  for (int i = 0; i < 1000; i += 37) {
    for (const ObjectId read : {buffer, other}) {
      const TransferId transfer = client_.id();
      client_.send(EnqueueRead{queue_, 0, read, std::uint64_t{4096} * i + 4092, 4, transfer, {}});
      const auto data = client_.wait<ReadData>([&](const ReadData& r) { return r.transfer == transfer; });
      int value = -1;
      std::memcpy(&value, data->data.data(), 4);
      EXPECT_EQ(value, i);
    }
  }
}

TEST_F(CommandTest, ObservedEventIsReportedOnce) {
  add(1, 1000);
  client_.send(ObserveEvent{1000});
  EXPECT_EQ(client_.event_status(1000), CL_COMPLETE);
  client_.send(ObserveEvent{1000});
  client_.finish(queue_);
  client_.ping();
  EXPECT_FALSE(client_.has<EventDone>());
  client_.send(ReleaseEvent{1000});
  client_.send(ObserveEvent{1000});
  EXPECT_EQ(client_.event_status(1000), CL_COMPLETE) << "an event that was let go of has ended well";
}

TEST_F(CommandTest, ProfilingTimesComeWithTheEnd) {
  const ObjectId queue = client_.make_queue(CL_QUEUE_PROFILING_ENABLE);
  add(1, 1000, {}, queue);
  client_.send(ObserveEvent{1000});
  const auto done = client_.wait<EventDone>();
  ASSERT_EQ(done->has_profile, 1u);
  EXPECT_LE(done->profile[0], done->profile[1]);
  EXPECT_LE(done->profile[1], done->profile[2]);
  EXPECT_LE(done->profile[2], done->profile[3]);
  EXPECT_GT(done->profile[3], 0u);
}

TEST_F(CommandTest, FinishOfAnEmptyQueue) {
  client_.finish(queue_);
  client_.finish(client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
}

TEST_F(CommandTest, DisconnectWithWorkInFlightDisturbsNobody) {
  WireClient bystander(address());
  {
    WireClient leaving(address());
    const ObjectId program = leaving.id();
    leaving.build(program, kAddSource);
    const ObjectId spin = leaving.make_kernel(program, "spin"), queue = leaving.make_queue();
    const ObjectId buffer = leaving.make_buffer(64);
    const int rounds = 300'000'000;
    const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, rounds)};
    for (int i = 0; i < 2; ++i) leaving.enqueue(queue, spin, 1, arguments);
    leaving.send(ExpectEvent{5000});
    const EventId wait = 5000;
    leaving.enqueue(queue, spin, 1, {}, 0, std::span(&wait, 1));
    leaving.ping();
  }
  auto slowest = std::chrono::steady_clock::duration::zero();
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    bystander.ping();
    slowest = std::max(slowest, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(slowest, std::chrono::milliseconds(200));
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 2; })) << "this fixture's session and the bystander's";
}

TEST_F(CommandTest, AWriteKeepsItsPlaceWhenItIsTheOneWithWhichTheBacklogIsCounted) {
  const ObjectId spin = client_.make_kernel(program_, "spin"), other = client_.make_queue();
  const EventId soon = client_.id(), late = client_.id(), earlier = client_.id();
  const auto spin_for = [&](int rounds, EventId event) {
    const KernelArgument arguments[] = {memory_argument(0, client_.make_buffer(64)), value_argument(1, rounds)};
    client_.enqueue(other, spin, 1, arguments, event);
  };
  spin_for(100'000'000, soon);
  spin_for(500'000'000, late);
  const ObjectId written = client_.make_buffer(2 * kInlineDataMax);
  const auto write = [&](char value, EventId event, std::span<const EventId> waits, std::uint64_t offset = 0) {
    client_.write<char>(queue_, written, std::vector<char>(kInlineDataMax, value), event, waits, offset);
  };
  constexpr int kCounted = server::DriverBacklog::kCountedTogether / kInlineDataMax + 1;
  write(1, 0, std::span(&soon, 1));
  for (int i = 2; i < kCounted; ++i) write(static_cast<char>(i), i == kCounted - 1 ? earlier : 0, {});
  write(kCounted, 0, std::span(&late, 1));
  client_.send(ObserveEvent{earlier});
  EXPECT_EQ(client_.event_status(earlier), CL_COMPLETE);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the server has looked at all that has ended
  write(kCounted + 1, 0, {}, kInlineDataMax / 2);
  client_.finish(queue_);
  const auto content = client_.read<char>(queue_, written, kInlineDataMax);
  EXPECT_EQ(content.front(), kCounted) << "its bytes were replaced before the driver had read them";
  EXPECT_EQ(content.back(), kCounted + 1) << "the next write overtook it";
}

// Its session may have this much on the server.
class HostMemoryTest : public ServerTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  static LimitsTable limits() {
    LimitsTable limits;
    limits.session.host_memory = GetParam();
    return limits;
  }
  HostMemoryTest() : ServerTest(limits()) {}
};

TEST_P(HostMemoryTest, ManyUnreadRepliesDoNotEndTheSession) {
  WireClient client(address());
  const ObjectId queue = client.make_queue(), large = client.make_buffer(kInlineDataMax);
  for (int i = 0; i < 4000; ++i) client.add(EnqueueRead{queue, 0, large, 0, kInlineDataMax, client.id(), {}});
  client.flush();
  // Time enough for more to be read than may be unwritten, if all of it were small.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  client.ping();
  EXPECT_TRUE(client.has<ReadData>());
}

INSTANTIATE_TEST_SUITE_P(Limits, HostMemoryTest, ::testing::Values(16u << 20, 1u << 30),
                         [](const auto& each) { return std::to_string(each.param >> 20) + "MiB"; });

}  // namespace
}  // namespace remotecl::testing
