// What a server does with a peer that proves to be the right one and then means harm: the link ends, nothing else.
#include <random>
#include <thread>

#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

TEST_F(HostilePeerTest, UnknownCode) {
  join();
  say_raw(0, 2999, {});
  expect_only_link_ends("2999");
}

TEST_F(HostilePeerTest, CommandOfAClient) {
  join();
  say(ReleaseBuffer{1});
  expect_only_link_ends("not known");
}

TEST_F(HostilePeerTest, TooShort) {
  join();
  say_raw(3, Code::kPeerSignal, Bytes(std::vector<std::byte>(3)));
  expect_only_link_ends("PeerSignal");
}

TEST_F(HostilePeerTest, TooLongCostsNothing) {
  join();
  say_raw(0xffffffff, Code::kPeerData, {});
  expect_only_link_ends("longer");
}

TEST_F(HostilePeerTest, ChunkThatNobodyAskedFor) {
  join();
  say_chunk(4711, 8, 0, 8);
  expect_only_link_ends("4711");
}

TEST_F(HostilePeerTest, MoreThanAnnounced) {
  join();
  const EventId event = receive_here(a_.make_buffer(kLarge), kLarge, 1);
  wait_for_pull(1);
  say_chunk(1, kBulkChunkMax, 0, 0);
  expect_only_link_ends("bytes are left");
  EXPECT_LT(a_.event_status(event), 0);
}

TEST_F(HostilePeerTest, EndWithoutError) {
  join();
  const EventId event = receive_here(a_.make_buffer(kLarge), kLarge, 1);
  wait_for_pull(1);
  say_chunk(1, 0, 0, 0);
  expect_only_link_ends("without an error");
  EXPECT_LT(a_.event_status(event), 0);
}

TEST_F(HostilePeerTest, EndWithErrorFailsOnlyTheTransfer) {
  join();
  const EventId event = receive_here(a_.make_buffer(kLarge), kLarge, 1);
  wait_for_pull(1);
  say_chunk(1, 1000, 0, 1000);
  say_chunk(1, 0, -5, 0);
  EXPECT_EQ(a_.event_status(event), -5);
  const EventId next = receive_here(a_.make_buffer(64), 64, 2);
  say(PeerData{2, 0, Bytes(std::vector<std::byte>(64))});
  EXPECT_EQ(a_.event_status(next), CL_COMPLETE);
}

// The memory that bytes are going to must not be taken away under them.
TEST_F(HostilePeerTest, RefusalOfATransferThatHasBegun) {
  join();
  const EventId event = receive_here(a_.make_buffer(kLarge), kLarge, 1);
  wait_for_pull(1);
  say_chunk(1, 2u << 20, 0, 1u << 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  say(PeerData{1, -5, {}});
  const std::vector<std::byte> rest(1u << 20);
  bulk_->write(Bytes(rest));
  say_chunk(1, 1u << 20, 0, 1u << 20);
  EXPECT_EQ(a_.event_status(event), CL_COMPLETE);
}

TEST_F(HostilePeerTest, DataOfTheWrongSizeFailsTheCommand) {
  join();
  for (const std::size_t size : {0, 63, 65, 70000}) {
    const TransferId transfer = ++transfers_;
    const EventId event = receive_here(a_.make_buffer(64), 64, transfer);
    say(PeerData{transfer, 0, Bytes(std::vector<std::byte>(size))});
    EXPECT_EQ(a_.event_status(event), CL_INVALID_VALUE) << size;
  }
  say(PeerSignal{3000, 5});  // a positive status is none
  a_.send(ExpectEvent{3000, kSecond});
  a_.send(ObserveEvent{3000});
  EXPECT_EQ(a_.event_status(3000), CL_COMPLETE);
}

TEST_F(HostilePeerTest, SignalOfSomebodyElsesEvent) {
  join();
  a_.send(ExpectEvent{3000});
  a_.send(ObserveEvent{3000});
  a_.ping();
  say(PeerSignal{3000, 0});
  expect_only_link_ends("not expected from");
  EXPECT_FALSE(a_.has_ended(3000));
}

TEST_F(HostilePeerTest, EarlySignalOfAnothersEventIsNotTaken) {
  join();
  say(PeerSignal{3000, 0});
  say(PeerSignal{3001, 0});
  a_.send(ExpectEvent{3001, kSecond});
  a_.send(ObserveEvent{3001});
  EXPECT_EQ(a_.event_status(3001), CL_COMPLETE);
  a_.send(ExpectEvent{3000, 3});
  a_.send(ObserveEvent{3000});
  a_.ping();
  EXPECT_FALSE(a_.has_ended(3000));
}

TEST_F(HostilePeerTest, AcknowledgementOfWhatWasNotSent) {
  join();
  say(PeerAck{~std::uint64_t{0}});
  expect_only_link_ends("acknowledges");
}

class HostilePeerFloodTest : public HostilePeerTest {
 protected:
  HostilePeerFloodTest() : HostilePeerTest(limits()) {}
  static LimitsTable limits() {
    LimitsTable limits;
    limits.session.host_memory = 48u << 20;
    return limits;
  }
};

TEST_F(HostilePeerFloodTest, FloodsAreBounded) {
  // Nobody takes the rest once the link has ended.
  const auto flood = [this](auto&& add, std::uint64_t count, const std::string& words) {
    join();
    std::thread writer([&] {
      ByteBuffer out;
      for (std::uint64_t id = 1; id <= count; ++id) {
        add(out, id << 20);
        if (out.size() < (1u << 20)) continue;
        if (!control_->write(out.bytes())) return;
        out.clear();
      }
      control_->write(out.bytes());
    });
    expect_only_link_ends(words);
    control_->shutdown();
    writer.join();
  };
  constexpr std::uint64_t kMany = (1u << 20) + 1000;
  const std::size_t before = resident_kib();
  using Out = ByteBuffer&;
  flood([](Out out, auto id) { append_message(out, PeerSignal{id, 0}); }, kMany, "host-memory");
  flood([](Out out, auto id) { append_message(out, PullTransfer{id}); }, kMany, "host-memory");
  flood([](Out out, auto id) { append_message(out, DropTransfer{id}); }, kMany, "host-memory");
  flood([](Out out, auto id) { append_message(out, PeerData{id, -5, {}}); }, kMany, "host-memory");
  flood([](Out out, auto id) { append_message(out, PeerData{id, 0, {}}); }, kMany, "host-memory");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kGrowthKibMax = 3000 * 1024;  // they keep freed memory, and notes about it
#else
  constexpr std::size_t kGrowthKibMax = 300 * 1024;
#endif
  EXPECT_LT(resident_kib(), before + kGrowthKibMax);
  const std::vector<std::byte> data(kInlineDataMax);
  flood([&data](Out out, auto id) { append_message(out, PeerData{id, 0, data}); }, 16500, "host-memory");
  // Only possible when those bytes are not counted any more.
  expect_usable();
}

TEST_F(HostilePeerTest, Noise) {
  std::mt19937 random(20);
  static constexpr std::uint16_t kCodes[] = {Code::kPeerSignal, Code::kPeerAck, Code::kPeerData, Code::kPullTransfer,
                                             Code::kDropTransfer};
  for (int round = 0; round < 40; ++round) {
    join(secret_of(static_cast<std::uint8_t>(round + 1)));
    const EventId small = receive_here(a_.make_buffer(64), 64, ++transfers_);
    const EventId large = receive_here(a_.make_buffer(kLarge), kLarge, ++transfers_);
    const EventId sent = send(a_.make_buffer(kLarge), kLarge, ++transfers_);
    a_.ping();
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> payload(random() % 32);
      for (auto& byte : payload) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
      const TransferId known = transfers_ - random() % 4;
      if (payload.size() >= 8 && random() % 2 == 0) std::memcpy(payload.data(), &known, 8);
      say_raw(static_cast<std::uint32_t>(payload.size()), kCodes[random() % std::size(kCodes)], payload);
    }
    control_->shutdown();
    end_of_link(a_);
    for (const EventId event : {small, large, sent}) a_.event_status(event);
    while (a_.has<SignalUndelivered>()) a_.wait<SignalUndelivered>();
  }
  expect_usable();
}

}  // namespace
}  // namespace remotecl::testing
