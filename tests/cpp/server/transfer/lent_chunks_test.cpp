#include "server/transfer/lent_chunks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>

#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

using server::Counters;
using server::LentChunks;
using server::MemoryLimits;
using server::MemoryQuota;
using server::SessionCounters;
using server::UploadStore;

constexpr PeerId kPeer = 2, kOther = 3;
constexpr char kAlice[] = "direct alice", kBob[] = "direct bob";

std::vector<std::byte> chunk_of(int number) {
  std::vector<std::byte> chunk(1000 + static_cast<std::size_t>(number), std::byte(number));
  return chunk;
}
Digest digest_of(int number) { return sha256(chunk_of(number)); }

class LentChunksTest : public ::testing::Test {
 protected:
  LentChunksTest() {
    for (int number = 0; number < kAlices; ++number) keep(kAlice, number);
    keep(kBob, kAlices);
  }
  ~LentChunksTest() override { lent_.stop(); }

  void keep(const std::string& owner, int number) { store_.keep(owner, digest_of(number), chunk_of(number)); }
  void lend(std::uint64_t loan, PeerId to, const std::vector<int>& numbers) {
    std::vector<std::byte> digests;
    for (const int number : numbers) {
      const Digest digest = digest_of(number);
      const Bytes bytes = std::as_bytes(std::span(digest));
      digests.insert(digests.end(), bytes.begin(), bytes.end());
    }
    lent_.lend(loan, to, digests);
  }
  std::future<std::vector<std::byte>> question(std::uint64_t loan, PeerId by, int number) {
    const auto answer = std::make_shared<std::promise<std::vector<std::byte>>>();
    lent_.ask(loan, by, digest_of(number), [answer](Bytes bytes) { answer->set_value({bytes.begin(), bytes.end()}); });
    return answer->get_future();
  }
  std::vector<std::byte> ask(std::uint64_t loan, PeerId by, int number) { return question(loan, by, number).get(); }

  static constexpr int kAlices = 8;
  TemporaryFolder folder_;
  Store kept_{std::make_unique<FileDirectory>(folder_.path() / "store"),
              {.directory = 16u << 20, .memory = 0},
              {},
              Store::Kind::kUploads};
  UploadStore store_{&kept_};
  Ref<Counters> used_ = make_ref<Counters>(MemoryQuota::counters(0));
  Ref<MemoryQuota> quota_ = make_ref<MemoryQuota>(0, used_, MemoryLimits{}, nullptr);
  LentChunks lent_{store_, kAlice, make_ref<SessionCounters>(quota_)};
};

TEST_F(LentChunksTest, APeerGetsWhatTheClientHasLentToItOnce) {
  lend(1, kPeer, {0, 1});
  EXPECT_EQ(ask(1, kPeer, 0), chunk_of(0));
  EXPECT_EQ(ask(1, kPeer, 0), std::vector<std::byte>());
  EXPECT_EQ(ask(1, kPeer, 1), chunk_of(1));
}

TEST_F(LentChunksTest, NobodyElseGetsAnything) {
  lend(1, kPeer, {0, kAlices, kAlices + 1});
  EXPECT_TRUE(ask(1, kOther, 0).empty()) << "another peer";
  EXPECT_TRUE(ask(1, kPeer, 1).empty()) << "another chunk";
  EXPECT_TRUE(ask(1, kPeer, kAlices).empty()) << "another user's";
  EXPECT_TRUE(ask(1, kPeer, kAlices + 1).empty()) << "nobody's";
  EXPECT_EQ(ask(1, kPeer, 0), chunk_of(0)) << "none of these took it";
}

TEST_F(LentChunksTest, AQuestionMayComeBeforeTheClientsWord) {
  auto first = question(1, kPeer, 0), stranger = question(1, kOther, 1), wrong = question(1, kPeer, 2);
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  lend(1, kPeer, {0, 1});
  EXPECT_EQ(first.get(), chunk_of(0));
  EXPECT_TRUE(stranger.get().empty());
  EXPECT_TRUE(wrong.get().empty());
}

TEST_F(LentChunksTest, ALoanIsMadeOnceAndForgottenSoon) {
  lend(1, kPeer, {0});
  EXPECT_THROW(lend(1, kPeer, {1}), server::ProtocolError);
  for (std::uint64_t loan = 2; loan < 100; ++loan) lend(loan, kPeer, {static_cast<int>(loan % kAlices)});
  EXPECT_TRUE(ask(1, kPeer, 0).empty());
  lend(1, kPeer, {1});
  EXPECT_TRUE(ask(1, kPeer, 1).empty()) << "it comes too late, which is no mistake";
  EXPECT_EQ(ask(99, kPeer, 99 % kAlices), chunk_of(99 % kAlices));
}

TEST_F(LentChunksTest, WhoAsksForALoanThatIsForgottenByTheTimeItIsMadeGetsNothing) {
  auto early = question(1, kPeer, 0);
  for (std::uint64_t loan = 2; loan < 100; ++loan) lend(loan, kPeer, {0});
  lend(1, kPeer, {0});
  ASSERT_EQ(early.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_TRUE(early.get().empty());
}

TEST_F(LentChunksTest, DigestsAreWholeAndNotTooMany) {
  EXPECT_THROW(lent_.lend(1, kPeer, std::vector<std::byte>(33)), server::ProtocolError);
  EXPECT_THROW(lent_.lend(1, kPeer, std::vector<std::byte>(65 * sizeof(Digest))), server::ProtocolError);
}

// Each question has its answer, at once or with the loan, and few wait.
TEST_F(LentChunksTest, QuestionsThatWaitAreBounded) {
  std::atomic<int> answers = 0;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    lent_.ask(1'000'000 + i % 1000, kPeer, digest_of(0), [&answers](Bytes bytes) { answers += bytes.empty() ? 1 : 0; });
  }
  EXPECT_GE(answers, 100'000 - 16 * 64);
  EXPECT_LT(answers, 100'000);
}

TEST_F(LentChunksTest, WhatTheLoansTakeIsCounted) {
  const auto before = quota_->used(quota_->host());
  for (std::uint64_t loan = 1; loan < 1000; ++loan) lend(loan, kPeer, std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_LT(quota_->used(quota_->host()) - before, 1u << 20);
  lent_.stop();
  EXPECT_EQ(quota_->used(quota_->host()), before);
}

TEST_F(LentChunksTest, QuestionsOfAnEndedSessionAreDropped) {
  auto waiting = question(1, kPeer, 0);
  lent_.stop();
  EXPECT_THROW(waiting.get(), std::future_error);
}

// Whatever order words and questions come in, a peer gets what was lent to it, once each.
TEST_F(LentChunksTest, AnyOrderOfWordsAndQuestions) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::uint64_t loan = seed + 1;
    const PeerId to = random() % 2 == 0 ? kPeer : kOther;
    std::vector<int> numbers;
    for (int number = 0; number < kAlices; ++number) {
      if (random() % 2 == 0) numbers.push_back(number);
    }
    std::map<std::pair<PeerId, int>, std::vector<std::future<std::vector<std::byte>>>> questions;
    const unsigned count = 1 + random() % 20, at = random() % count;
    for (unsigned i = 0; i < count; ++i) {
      if (i == at) lend(loan, to, numbers);
      const PeerId by = random() % 2 == 0 ? kPeer : kOther;
      const int number = static_cast<int>(random() % kAlices);
      questions[{by, number}].push_back(question(loan, by, number));
    }
    for (auto& [asked, answers] : questions) {
      const auto [by, number] = asked;
      const bool is_lent = by == to && std::ranges::find(numbers, number) != numbers.end();
      std::size_t given = 0;
      for (auto& answer : answers) {
        const std::vector<std::byte> bytes = answer.get();
        if (!bytes.empty()) {
          EXPECT_EQ(bytes, chunk_of(number)) << "seed " << seed;
        }
        given += !bytes.empty();
      }
      EXPECT_EQ(given, is_lent ? 1u : 0u) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace remotecl::testing
