// Chunks of an offer that come from another server of the client.
#include <filesystem>
#include <fstream>
#include <random>

#include "fakes/wire/wire_monitor.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "server/peer/peer_fixture.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

// What both servers keep.
struct Stores {
  Stores() {
    first.add_uploads(std::make_unique<Store>(open("first"), bounds, "", Store::Kind::kUploads));
    second.add_uploads(std::make_unique<Store>(open("second"), bounds, "", Store::Kind::kUploads));
  }
  std::unique_ptr<FileDirectory> open(const char* name) const {
    return std::make_unique<FileDirectory>(folder.path() / name, FileDirectory::Sync::kNever);
  }

  TemporaryFolder folder;
  Store::Bounds bounds{.memory = 0};
  Store first{open("first"), bounds}, second{open("second"), bounds};
};

// Made before the servers.
class WithStores {
 protected:
  Stores stores_;
};

constexpr char kOwner[] = "direct default";
constexpr std::uint64_t kUnknownSpeed = 0, kSlow = 1000;

std::vector<std::byte> random_chunk(unsigned seed, std::size_t size = kUploadChunk) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(size / 8);
  for (std::uint64_t& word : words) word = random();
  const Bytes bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> digests_of(const std::vector<std::vector<std::byte>>& chunks) {
  std::vector<std::byte> digests;
  for (const auto& chunk : chunks) {
    const Digest digest = sha256(chunk);
    const Bytes bytes = std::as_bytes(std::span(digest));
    digests.insert(digests.end(), bytes.begin(), bytes.end());
  }
  return digests;
}

// A write of whole chunks to a server, which has asked for its bytes.
struct Write {
  Write(WireClient& client, std::uint64_t size)
      : client(client), queue(client.make_queue()), buffer(client.make_buffer(size)) {
    client.bulk();
    client.send(EnqueueWrite{queue, event, buffer, 0, size, transfer, {}, {}});
    client.send(ObserveEvent{event});
    client.wait<PullTransfer>([this](const PullTransfer& pull) { return pull.transfer == transfer; });
  }
  std::string offer(Bytes digests, std::uint64_t loan, std::uint64_t bytes_per_s, PeerId lender) {
    client.send(BorrowChunks{transfer, loan, bytes_per_s, std::span<const PeerId>(&lender, 1)});
    client.send(OfferChunks{transfer, 0, digests});
    return answer();
  }
  std::string answer() {
    const auto found =
        client.wait<ChunksFound>([this](const ChunksFound& found) { return found.transfer == transfer; });
    std::string text;
    for (const std::byte each : found->found) text += each == std::byte{} ? '0' : '1';
    return text;
  }
  void leave_out() const {
    client.bulk().write(encode_frame<BulkHeader, kBulkHeaderSize>({transfer, 0, kStoredChunk}));
  }

  WireClient& client;
  const ObjectId queue;  // of its own, because most of these writes do not end
  const ObjectId buffer;
  const EventId event = client.id();
  const TransferId transfer = client.id();
};

// A lends, B borrows.
class BorrowedChunksTest : private WithStores, public PeerTest {
 protected:
  BorrowedChunksTest() : PeerTest({}, &stores_.first, &stores_.second) {}

  // As a former upload.
  void store(Store& at, const std::vector<std::byte>& chunk, const std::string& owner = kOwner) {
    at.uploads()->keep(owner, sha256(chunk), chunk);
  }
  using WithStores::stores_;
};

TEST_F(BorrowedChunksTest, AServerGetsThemFromAnotherOne) {
  link();
  const auto there = random_chunk(1), here = random_chunk(2), nowhere = random_chunk(3), last = random_chunk(4, 4096);
  store(stores_.first, there);
  store(stores_.first, last);
  store(stores_.second, here);
  const auto digests = digests_of({there, here, nowhere, last});
  a_.send(LendChunks{7, kSecond, digests});
  Write write(b_, 3 * kUploadChunk + 4096);
  EXPECT_EQ(write.offer(digests, 7, kUnknownSpeed, kFirst), "1101");
  write.leave_out();
  write.leave_out();
  b_.send_bulk(write.transfer, nowhere);
  write.leave_out();
  EXPECT_EQ(b_.event_status(write.event), CL_COMPLETE);
  const TransferId read = b_.id();
  b_.send(EnqueueRead{write.queue, 0, write.buffer, 0, 3 * kUploadChunk + 4096, read, {}});
  std::vector<std::byte> expected;
  for (const auto* chunk : {&there, &here, &nowhere, &last})
    expected.insert(expected.end(), chunk->begin(), chunk->end());
  EXPECT_EQ(b_.receive_bulk(read, expected.size()), expected);
  Write again(b_, kUploadChunk);
  b_.send(OfferChunks{again.transfer, 0, digests_of({there})});
  EXPECT_EQ(again.answer(), "1") << "B has stored what it got";
}

TEST_F(BorrowedChunksTest, MonitorsAreToldWhatIsKept) {
  const auto chunk = random_chunk(1);
  store(stores_.second, chunk);
  for (const bool is_there : {true, false}) {
    Write write(b_, kUploadChunk);
    b_.send(OfferChunks{write.transfer, 0, digests_of({is_there ? chunk : random_chunk(2)})});
    EXPECT_EQ(write.answer(), is_there ? "1" : "0");
  }
  const std::vector<StoreStatus> stores = WireMonitor(second_.address()).ask().stores;
  ASSERT_EQ(stores.size(), 2u) << "of programs and of uploads";
  EXPECT_EQ(stores[0].entries, 0u);
  EXPECT_EQ(stores[1].entries, 1u);
  EXPECT_GT(stores[1].bytes, kUploadChunk);
  EXPECT_EQ(stores[1].hits, 1u);
  EXPECT_EQ(stores[1].misses, 1u);
  EXPECT_EQ(stores[1].hit_bytes, kUploadChunk);
}

// The disk has lost bytes of a file that was verified, and neither its size nor its time says so.
TEST_F(BorrowedChunksTest, DamagedBytesAreAnErrorAndNotFoundAgain) {
  const auto chunk = random_chunk(1);
  store(stores_.second, chunk);
  const auto digests = digests_of({chunk});
  Write write(b_, kUploadChunk);
  b_.send(OfferChunks{write.transfer, 0, digests});
  EXPECT_EQ(write.answer(), "1");
  for (const auto& entry : std::filesystem::directory_iterator(stores_.folder.path() / "second")) {
    const auto time = entry.last_write_time();
    std::fstream(entry.path(), std::ios::binary | std::ios::in | std::ios::out).seekp(5000).write("damaged", 7);
    std::filesystem::last_write_time(entry.path(), time);
  }
  write.leave_out();
  EXPECT_LT(b_.event_status(write.event), 0);
  Write again(b_, kUploadChunk);
  b_.send(OfferChunks{again.transfer, 0, digests});
  EXPECT_EQ(again.answer(), "0");
  b_.send_bulk(again.transfer, chunk);
  EXPECT_EQ(b_.event_status(again.event), CL_COMPLETE);
}

TEST_F(BorrowedChunksTest, TheQuestionMayComeBeforeTheLoanAndTheLink) {
  const auto there = random_chunk(1);
  store(stores_.first, there);
  const auto digests = digests_of({there});
  Write write(b_, kUploadChunk);
  const PeerId lender = kFirst;
  b_.send(BorrowChunks{write.transfer, 7, kUnknownSpeed, std::span<const PeerId>(&lender, 1)});
  b_.send(OfferChunks{write.transfer, 0, digests});
  link();
  a_.send(LendChunks{7, kSecond, digests});
  EXPECT_EQ(write.answer(), "1");
}

TEST_F(BorrowedChunksTest, WhatAnotherUserHasStoredIsNotLent) {
  link();
  const auto there = random_chunk(1);
  store(stores_.first, there, "direct bob");
  store(stores_.first, there, "contained default");
  const auto digests = digests_of({there});
  a_.send(LendChunks{7, kSecond, digests});
  EXPECT_EQ(Write(b_, kUploadChunk).offer(digests, 7, kUnknownSpeed, kFirst), "0");
}

TEST_F(BorrowedChunksTest, WhatTheClientHasNotLentIsNotGiven) {
  link();
  const auto there = random_chunk(1), other = random_chunk(2);
  store(stores_.first, there);
  a_.send(LendChunks{7, kSecond, digests_of({other})});
  EXPECT_EQ(Write(b_, kUploadChunk).offer(digests_of({there}), 7, kUnknownSpeed, kFirst), "0");
  EXPECT_EQ(Write(b_, kUploadChunk).offer(digests_of({there}), 8, kUnknownSpeed, kFirst), "0");
}

TEST_F(BorrowedChunksTest, ALenderThatNeverComesDelaysTheAnswerOnly) {
  for (const PeerId lender : {kFirst, PeerId{17}, PeerId{kPeersMax}}) {
    EXPECT_EQ(Write(b_, kUploadChunk).offer(digests_of({random_chunk(1)}), 7, kUnknownSpeed, lender), "0");
  }
}

// Plays the server that lends.
class HostileLenderTest : private WithStores, public HostilePeerTest {
 protected:
  HostileLenderTest() : HostilePeerTest({}, &stores_.first) {}

  // Returns the answer to a question of this test.
  std::vector<std::byte> ask(std::uint64_t question, std::uint64_t loan, const Digest& digest) {
    say(AskChunk{question, loan, digest});
    const Received<PeerChunk> chunk = next<PeerChunk>();
    EXPECT_EQ(chunk->question, question);
    return {chunk->bytes.begin(), chunk->bytes.end()};
  }
  void borrow(Write& write, Bytes digests, std::uint64_t bytes_per_s) {
    const PeerId lender = kSecond;
    write.client.send(BorrowChunks{write.transfer, 7, bytes_per_s, std::span<const PeerId>(&lender, 1)});
    write.client.send(OfferChunks{write.transfer, 0, digests});
  }
  using WithStores::stores_;
};

TEST_F(HostileLenderTest, WrongBytesAreNotFound) {
  join();
  const auto chunk = random_chunk(1);
  const auto digests = digests_of({chunk});
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> wrong = chunk;
    if (random() % 3 == 0) {
      wrong.resize(random() % wrong.size());
    } else {
      wrong[random() % wrong.size()] ^= std::byte(1 + random() % 255);
    }
    Write write(a_, kUploadChunk);
    borrow(write, digests, kUnknownSpeed);
    say(PeerChunk{next<AskChunk>()->question, wrong});
    ASSERT_EQ(write.answer(), "0") << "seed " << seed;
    a_.send_bulk(write.transfer, chunk);
    ASSERT_EQ(a_.event_status(write.event), CL_COMPLETE);
    EXPECT_TRUE(eventually([&] { return stores_.first.uploads()->open(kOwner, sha256(chunk)).valid(); }));
    for (const auto& entry : std::filesystem::directory_iterator(stores_.folder.path() / "first")) {
      std::filesystem::remove(entry);
    }
  }
}

TEST_F(HostileLenderTest, AnswersWithoutQuestion) {
  join();
  say(PeerChunk{1, {}});
  expect_only_link_ends("not asked");
}

TEST_F(HostileLenderTest, AChunkThatIsTooLarge) {
  join();
  Write write(a_, kUploadChunk);
  borrow(write, digests_of({random_chunk(1)}), kUnknownSpeed);
  say(PeerChunk{next<AskChunk>()->question, std::vector<std::byte>(kUploadChunk + 1)});
  EXPECT_EQ(write.answer(), "0");
  expect_only_link_ends("too large");
}

TEST_F(HostileLenderTest, TheSameAnswerTwice) {
  join();
  Write write(a_, kUploadChunk);
  borrow(write, digests_of({random_chunk(1)}), kUnknownSpeed);
  const std::uint64_t question = next<AskChunk>()->question;
  for (int i = 0; i < 2; ++i) say(PeerChunk{question, {}});
  EXPECT_EQ(write.answer(), "0");
  expect_only_link_ends("not asked");
}

TEST_F(HostileLenderTest, APeerThatIsLostInTheMiddleIsNotWaitedFor) {
  join();
  const auto first = random_chunk(1), second = random_chunk(2);
  Write write(a_, 2 * kUploadChunk);
  borrow(write, digests_of({first, second}), kSlow);
  say(PeerChunk{next<AskChunk>()->question, first});
  // A connection that ends with unread bytes at this end may take the first chunk with it.
  EXPECT_EQ(next<AskChunk>()->digest, sha256(second));
  const auto begun = std::chrono::steady_clock::now();
  control_->shutdown();
  EXPECT_EQ(write.answer(), "10");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8)) << "the deadline is ten seconds";
  write.leave_out();
  a_.send_bulk(write.transfer, second);
  EXPECT_EQ(a_.event_status(write.event), CL_COMPLETE);
}

TEST_F(HostileLenderTest, SilenceEndsWhenTheClientWouldHaveSentTheBytes) {
  join();
  constexpr std::uint64_t kFast = kUploadChunk * 100;
  const PeerId lenders[] = {kSecond, kSecond, kSecond, kSecond};
  Write write(a_, kUploadChunk);
  const auto begun = std::chrono::steady_clock::now();
  a_.send(BorrowChunks{write.transfer, 7, kFast, std::span<const PeerId>(lenders)});
  a_.send(OfferChunks{write.transfer, 0, digests_of({random_chunk(1)})});
  EXPECT_EQ(write.answer(), "0");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(1500)) << "the client takes 10 ms";
  const std::uint64_t question = next<AskChunk>()->question;
  for (const std::uint64_t bytes_per_s : {kFast, kSlow, kUnknownSpeed}) {
    Write again(a_, kUploadChunk);
    borrow(again, digests_of({random_chunk(2)}), bytes_per_s);
    EXPECT_EQ(again.answer(), "0");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(6)) << "it is asked once";
  // Late answers are no mistake.
  say(PeerChunk{question, {}});
  a_.ping();
}

// What comes slower than the client's bytes is not asked for again, for some seconds.
TEST_F(HostileLenderTest, ASlowPeerIsNotAsked) {
  join();
  const auto chunk = random_chunk(1);
  Write slow(a_, kUploadChunk);
  borrow(slow, digests_of({chunk}), kUnknownSpeed);
  const std::uint64_t question = next<AskChunk>()->question;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // that slow
  say(PeerChunk{question, chunk});
  EXPECT_EQ(slow.answer(), "1");
  Write faster(a_, kUploadChunk), slower(a_, kUploadChunk);
  borrow(faster, digests_of({random_chunk(2)}), std::uint64_t{1} << 40);
  EXPECT_EQ(faster.answer(), "0") << "without a question";
  const auto other = random_chunk(3);
  borrow(slower, digests_of({other}), kSlow);
  const Received<AskChunk> ask = next<AskChunk>();
  EXPECT_EQ(ask->digest, sha256(other)) << "the first one since";
  say(PeerChunk{ask->question, other});
  EXPECT_EQ(slower.answer(), "1");
}

TEST_F(HostileLenderTest, ABorrowerGetsNothingThatWasNotLentToIt) {
  join();
  const auto mine = random_chunk(1), others = random_chunk(2), bobs = random_chunk(3);
  for (const auto* chunk : {&mine, &others}) stores_.first.uploads()->keep(kOwner, sha256(*chunk), *chunk);
  stores_.first.uploads()->keep("direct bob", sha256(bobs), bobs);
  a_.send(LendChunks{1, kSecond, digests_of({mine, bobs})});
  a_.send(LendChunks{2, kSecond + 1, digests_of({others})});
  a_.ping();
  EXPECT_TRUE(ask(1, 1, sha256(others)).empty());
  EXPECT_TRUE(ask(2, 2, sha256(others)).empty());
  EXPECT_TRUE(ask(3, 1, sha256(bobs)).empty());
  EXPECT_EQ(ask(4, 1, sha256(mine)), mine);
  EXPECT_TRUE(ask(5, 1, sha256(mine)).empty()) << "it had it";
  a_.ping();
}

}  // namespace
}  // namespace remotecl::testing
