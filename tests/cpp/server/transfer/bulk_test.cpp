#include <map>
#include <random>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// With the parameter, bulk data passes through staging as for a GPU.
class BulkTest : public CommandTest, public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr std::size_t kSize = 16u << 20;

  BulkTest() {
    if (GetParam()) server_.driver().device(0)->memory().stage_always();
    client_.bulk();
  }
  EventId start_write(ObjectId buffer, std::uint64_t offset, std::size_t size, TransferId transfer,
                      std::span<const EventId> waits = {}, ObjectId queue = 0) {
    const EventId event = client_.id();
    client_.send(EnqueueWrite{queue != 0 ? queue : queue_, event, buffer, offset, size, transfer, {}, waits});
    return event;
  }
  void wait_pull(TransferId transfer) {
    client_.wait<PullTransfer>([transfer](const PullTransfer& pull) { return pull.transfer == transfer; });
  }
  std::vector<std::byte> read_bulk(ObjectId buffer, std::uint64_t offset, std::size_t size) {
    const TransferId transfer = client_.id();
    const EventId event = client_.id();
    client_.send(EnqueueRead{queue_, event, buffer, offset, size, transfer, {}});
    auto bytes = client_.receive_bulk(transfer, size);
    EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
    return bytes;
  }
};

TEST_P(BulkTest, WriteAndReadBack) {
  const auto data = random_bytes(kSize);
  const ObjectId buffer = client_.make_buffer(kSize + 4096);
  const TransferId transfer = client_.id();
  const EventId event = start_write(buffer, 4096, kSize, transfer);
  wait_pull(transfer);
  client_.send_bulk(transfer, data, 1'000'003);  // chunks of any size
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
  EXPECT_EQ(read_bulk(buffer, 4096, kSize), data);
}

TEST_P(BulkTest, SubBufferIsWrittenInItsPlace) {
  const ObjectId parent = client_.make_buffer(kSize), part = client_.id();
  const int zero = 0;
  client_.add(EnqueueFill{queue_, 0, parent, 0, kSize, std::as_bytes(std::span(&zero, 1)), {}});
  client_.add(CreateSubBuffer{part, parent, 1, 4096, kSize / 2});
  const auto data = random_bytes(kSize / 2 - 100);
  const TransferId transfer = client_.id();
  const EventId event = start_write(part, 100, data.size(), transfer);
  wait_pull(transfer);
  client_.send_bulk(transfer, data);
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
  EXPECT_EQ(read_bulk(part, 100, data.size()), data);
  const auto all = read_bulk(parent, 0, kSize);
  EXPECT_EQ(all[4195], std::byte{0});
  EXPECT_TRUE(std::equal(data.begin(), data.end(), all.begin() + 4196));
  EXPECT_EQ(all[4196 + data.size()], std::byte{0});
}

TEST_P(BulkTest, KernelAfterTheWriteInOrderSeesItsBytes) {
  const ObjectId buffer = client_.make_buffer(kSize), result = client_.make_buffer(64);
  const TransferId transfer = client_.id();
  start_write(buffer, 0, kSize, transfer);
  const ObjectId copy = client_.make_kernel(program_, "copy");
  const KernelArgument arguments[] = {memory_argument(0, buffer), memory_argument(1, result)};
  client_.enqueue(queue_, copy, 16, arguments);
  const TransferId read = client_.id();
  client_.send(EnqueueRead{queue_, 0, result, 0, 64, read, {}});
  wait_pull(transfer);
  client_.ping();
  EXPECT_FALSE(client_.has<ReadData>()) << "nothing may pass the write";
  client_.send_bulk(transfer, std::vector<std::byte>(kSize, std::byte{0x11}));
  const auto data = client_.wait<ReadData>();
  int value = 0;
  std::memcpy(&value, data->data.data(), 4);
  EXPECT_EQ(value, 0x11111111);
}

// With the bytes a client forgets which commands it has to tie to the read's end.
TEST_P(BulkTest, TheEndOfASmallReadIsReportedBeforeItsBytes) {
  const ObjectId result = client_.make_buffer(64);
  const ObjectId copy = client_.make_kernel(program_, "copy");
  const KernelArgument arguments[] = {memory_argument(0, buffer_), memory_argument(1, result)};
  client_.enqueue(queue_, copy, 16, arguments);
  const EventId event = client_.id();
  client_.send(EnqueueRead{queue_, event, result, 0, 64, client_.id(), {}});
  while (!client_.has<ReadData>() || !client_.has<EventDone>()) client_.ping();
  EXPECT_TRUE(client_.has_in_order(EventDone::kCode, ReadData::kCode) || !GetParam());
}

TEST_P(BulkTest, SmallReadOfAnotherQueueDoesNotWaitForBulkData) {
  const ObjectId buffer = client_.make_buffer(kSize), other = client_.make_queue();
  const TransferId transfer = client_.id();
  start_write(buffer, 0, kSize, transfer);
  wait_pull(transfer);
  client_.send_bulk(transfer, std::vector<std::byte>(1000));
  EXPECT_EQ(client_.read<int>(other, buffer_, 1)[0], 0);
}

TEST_P(BulkTest, TransfersMayAlternate) {
  const ObjectId first = client_.make_buffer(kSize), second = client_.make_buffer(kSize), other = client_.make_queue();
  const TransferId a = client_.id(), b = client_.id();
  const EventId a_event = start_write(first, 0, kSize, a);
  const EventId b_event = start_write(second, 0, kSize, b, {}, other);
  wait_pull(b);
  wait_pull(a);
  const std::vector<std::byte> a_bytes(kSize / 16, std::byte{1}), b_bytes(kSize / 16, std::byte{2});
  for (int i = 0; i < 16; ++i) {
    client_.send_bulk(a, a_bytes);
    client_.send_bulk(b, b_bytes);
  }
  EXPECT_EQ(client_.event_status(a_event), CL_COMPLETE);
  EXPECT_EQ(client_.event_status(b_event), CL_COMPLETE);
  EXPECT_EQ(read_bulk(first, 0, kSize), std::vector<std::byte>(kSize, std::byte{1}));
  EXPECT_EQ(read_bulk(second, 0, kSize), std::vector<std::byte>(kSize, std::byte{2}));
}

// The large read fills the connection before the small one begins.
TEST_P(BulkTest, SmallReadPassesALargeOne) {
  constexpr std::size_t kLarge = 64u << 20, kSmall = 1u << 18;
  const ObjectId large = client_.make_buffer(kLarge), small = client_.make_buffer(kSmall), other = client_.make_queue();
  const int one = 0x01010101;
  client_.add(EnqueueFill{queue_, 0, large, 0, kLarge, std::as_bytes(std::span(&one, 1)), {}});
  const auto data = random_bytes(kSmall);
  const TransferId write = client_.id();
  const EventId written = start_write(small, 0, kSmall, write, {}, other);
  wait_pull(write);
  client_.send_bulk(write, data);
  EXPECT_EQ(client_.event_status(written), CL_COMPLETE);

  const TransferId a = client_.id(), b = client_.id();
  client_.send(EnqueueRead{queue_, 0, large, 0, kLarge, a, {}});
  std::map<TransferId, std::vector<std::byte>> read;
  std::vector<TransferId> ended;
  client_.receive_chunk(read);
  client_.send(EnqueueRead{other, 0, small, 0, kSmall, b, {}});
  while (ended.size() != 2) {
    const TransferId transfer = client_.receive_chunk(read);
    if (read[transfer].size() == (transfer == a ? kLarge : kSmall)) ended.push_back(transfer);
  }
  EXPECT_EQ(ended, (std::vector<TransferId>{b, a}));
  EXPECT_EQ(read[a], std::vector<std::byte>(kLarge, std::byte{1}));
  EXPECT_EQ(read[b], data);
}

TEST_P(BulkTest, WriteThatWaitsIsPulledWhenItMayBegin) {
  const EventId user = client_.id();
  client_.add(ExpectEvent{user});
  const ObjectId buffer = client_.make_buffer(kSize);
  const TransferId transfer = client_.id();
  const EventId event = start_write(buffer, 0, kSize, transfer, std::span(&user, 1));
  client_.ping();
  EXPECT_FALSE(client_.has<PullTransfer>());
  client_.send(SignalEvent{user, CL_COMPLETE});
  wait_pull(transfer);
  client_.send_bulk(transfer, std::vector<std::byte>(kSize));
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
}

TEST_P(BulkTest, WriteWhoseDependencyFailsIsNeverPulled) {
  const EventId user = client_.id();
  client_.add(ExpectEvent{user});
  const ObjectId buffer = client_.make_buffer(kSize);
  const EventId event = start_write(buffer, 0, kSize, client_.id(), std::span(&user, 1));
  client_.send(SignalEvent{user, -3});
  EXPECT_EQ(client_.event_status(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  client_.finish(queue_);
  EXPECT_FALSE(client_.has<PullTransfer>());
}

TEST_P(BulkTest, DependentOnAnotherQueueWaitsForTheBytes) {
  const ObjectId buffer = client_.make_buffer(kSize), other = client_.make_queue();
  const TransferId transfer = client_.id();
  const EventId event = start_write(buffer, 0, kSize, transfer);
  const TransferId read = client_.id();
  client_.send(EnqueueRead{other, 0, buffer, kSize - 4, 4, read, Array<EventId>(&event, 1)});
  wait_pull(transfer);
  client_.ping();
  EXPECT_FALSE(client_.has<ReadData>());
  client_.send_bulk(transfer, std::vector<std::byte>(kSize, std::byte{0x22}));
  const auto data = client_.wait<ReadData>();
  int value = 0;
  std::memcpy(&value, data->data.data(), 4);
  EXPECT_EQ(value, 0x22222222);
}

TEST_P(BulkTest, LargeRectanglesTravelPacked) {
  // Every second row of 4096 bytes.
  constexpr std::size_t kRows = 512, kRow = 4096;
  const ObjectId buffer = client_.make_buffer(kRows * kRow * 2);
  const int zero = 0;
  client_.add(EnqueueFill{queue_, 0, buffer, 0, kRows * kRow * 2, std::as_bytes(std::span(&zero, 1)), {}});
  const auto data = random_bytes(kRows * kRow);
  const TransferId transfer = client_.id();
  const EventId event = client_.id();
  client_.send(EnqueueWriteRect{queue_, event, buffer, {0, 0, 0}, {kRow, kRows, 1}, 2 * kRow, 0, transfer, {}, {}});
  wait_pull(transfer);
  client_.send_bulk(transfer, data);
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
  const TransferId read = client_.id();
  const EventId read_event = client_.id();
  client_.send(EnqueueReadRect{queue_, read_event, buffer, {0, 0, 0}, {kRow, kRows, 1}, 2 * kRow, 0, read, {}});
  EXPECT_EQ(client_.receive_bulk(read, data.size()), data);
  EXPECT_EQ(client_.event_status(read_event), CL_COMPLETE);
  const auto all = read_bulk(buffer, 0, kRows * kRow * 2);
  EXPECT_EQ(all[kRow], std::byte{0}) << "between the rows nothing is written";
  EXPECT_EQ(all[2 * kRow], data[kRow]);
}

TEST_P(BulkTest, DisconnectInTheMiddleOfATransfer) {
  WireClient bystander(address());
  {
    WireClient leaving(address());
    leaving.bulk();
    const ObjectId queue = leaving.make_queue(), buffer = leaving.make_buffer(kSize);
    const TransferId transfer = leaving.id();
    leaving.send(EnqueueWrite{queue, leaving.id(), buffer, 0, kSize, transfer, {}, {}});
    leaving.wait<PullTransfer>();
    leaving.send_bulk(transfer, std::vector<std::byte>(1000));
    // And a read that nobody takes.
    const ObjectId other = leaving.make_queue();
    leaving.send(EnqueueRead{other, leaving.id(), leaving.make_buffer(kSize), 0, kSize, leaving.id(), {}});
    leaving.ping();
  }
  bystander.ping();
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 2; }));
}

// A transfer that comes while the queue is busy waits for its turn.
TEST_P(BulkTest, OrderAmongKernelsIsKept) {
  const ObjectId buffer = client_.make_buffer(kSize);
  const int rounds = 50'000'000;
  const ObjectId spin = client_.make_kernel(program_, "spin");
  const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, rounds)};
  client_.enqueue(queue_, spin, 1, arguments);
  const TransferId transfer = client_.id();
  const EventId event = start_write(buffer, 0, kSize, transfer);
  wait_pull(transfer);
  client_.send_bulk(transfer, std::vector<std::byte>(kSize, std::byte{0x33}));
  const int one = 1;
  const KernelArgument add_one[] = {memory_argument(0, buffer), value_argument(1, one)};
  client_.enqueue(queue_, add_, 1, add_one);
  const auto bytes = read_bulk(buffer, 0, kSize);
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
  EXPECT_EQ(bytes[0], std::byte{0x34});
  EXPECT_EQ(bytes[4], std::byte{0x33});
}

TEST_P(BulkTest, ABarrierHoldsTransfersBackInAQueueOutOfOrder) {
  const ObjectId queue = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const ObjectId buffer = client_.make_buffer(kSize), spin = client_.make_kernel(program_, "spin");
  const int rounds = 30'000'000, value = 0x44444444;
  const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
  const EventId spun = client_.id(), event = client_.id();
  const TransferId transfer = client_.id();
  client_.enqueue(queue, spin, 1, arguments, spun);
  client_.add(EnqueueFill{queue, 0, buffer, 0, kSize, std::as_bytes(std::span(&value, 1)), Array<EventId>(&spun, 1)});
  client_.add(EnqueueMarker{queue, 0, 1, 1, {}});
  client_.send(EnqueueRead{queue, event, buffer, 0, kSize, transfer, {}});
  EXPECT_EQ(client_.receive_bulk(transfer, kSize), std::vector<std::byte>(kSize, std::byte{0x44}));
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
}

TEST_P(BulkTest, OutOfOrderFinishCoversRunningTransfers) {
  const ObjectId queue = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const ObjectId buffer = client_.make_buffer(kSize);
  const TransferId transfer = client_.id();
  start_write(buffer, 0, kSize, transfer, {}, queue);
  wait_pull(transfer);
  const Token token = client_.id();
  client_.send(Finish{queue, token});
  client_.ping();
  EXPECT_FALSE(client_.has<Finished>());
  client_.send_bulk(transfer, std::vector<std::byte>(kSize, std::byte{5}));
  client_.wait<Finished>();
  EXPECT_EQ(read_bulk(buffer, 0, kSize), std::vector<std::byte>(kSize, std::byte{5}));
}

TEST_P(BulkTest, ReadsOfSizesAroundThoseOfPieces) {
  constexpr std::size_t kPiece = 256u << 10;
  const auto data = random_bytes(kSize);
  const ObjectId buffer = client_.make_buffer(kSize);
  const TransferId transfer = client_.id();
  start_write(buffer, 0, kSize, transfer);
  wait_pull(transfer);
  client_.send_bulk(transfer, data);
  for (const std::size_t size :
       {kInlineDataMax + std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece, 4 * kPiece, 5 * kPiece + 1,
        (8u << 20) - std::size_t{1}, (8u << 20) + std::size_t{1}}) {
    SCOPED_TRACE(size);
    const auto got = read_bulk(buffer, 17, size);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin() + 17));
  }
}

TEST_P(BulkTest, ManyReadsBehindAKernelSeeWhatItWrote) {
  constexpr std::size_t kReads = 20, kBytes = 300'000;
  const ObjectId buffer = client_.make_buffer(kReads * kBytes);
  const int before = 0x01010101, after = 0x02020202;
  const auto fill = [&](const int& value) {
    client_.add(EnqueueFill{queue_, 0, buffer, 0, kReads * kBytes, std::as_bytes(std::span(&value, 1)), {}});
  };
  fill(before);
  const ObjectId spin = client_.make_kernel(program_, "spin");
  const int rounds = 30'000'000;
  const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
  client_.enqueue(queue_, spin, 1, arguments);
  fill(after);
  std::vector<TransferId> reads;
  for (std::size_t i = 0; i < kReads; ++i) {
    reads.push_back(client_.id());
    client_.add(EnqueueRead{queue_, 0, buffer, i * kBytes, kBytes, reads.back(), {}});
  }
  fill(before);  // and not what is written after them
  client_.flush();
  const std::vector<std::byte> expected(kBytes, std::byte{2});
  for (const TransferId read : reads) EXPECT_EQ(client_.receive_bulk(read, kBytes), expected);
}

INSTANTIATE_TEST_SUITE_P(Routes, BulkTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Staged" : "InPlace"; });

}  // namespace
}  // namespace remotecl::testing
