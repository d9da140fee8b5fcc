// What sessions with processes of their own may take of their user's limits, as an honest and as a hostile process
// sees it.
#include "server/quota/user_shares.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "server/wire/rate_limit.h"

namespace remotecl::testing {
namespace {

using namespace server;
using namespace std::chrono_literals;

constexpr std::size_t kDevices = 1;
constexpr std::size_t kHost = kDevices;  // the counter of host memory
constexpr std::uint64_t kOfUser = 8'000, kOfSession = 5'000;
const SharedLayout kLayout{MemoryQuota::counters(kDevices)};

Descriptor copy_of(int descriptor) { return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

// A session: the daemon's side, and that of its process, which has the pages at other addresses.
class Process {
 public:
  Process(const Ref<UserShares>& user, std::uint64_t bytes_per_second = 0)
      : share_(user, {{kOfUser, kOfUser, UINT64_MAX}, {kOfSession, kOfSession, UINT64_MAX}, {bytes_per_second, 0}}),
        claims(make_ref<Counters>(kLayout.claims(), copy_of(share_.claims()), Counters::Writer::kThisProcess)),
        allowance(make_ref<Allowance>(
            kLayout.counters, claims,
            make_ref<Counters>(kLayout.allowances(), copy_of(share_.allowances()), Counters::Writer::kOther),
            [this](const ShareClaim& claim) {
              ++asked;
              return share_.claim(claim);
            })),
        quota(kDevices, claims, {kOfSession, kOfSession, UINT64_MAX}, nullptr, allowance) {}

 private:
  SessionShare share_;

 public:
  const SessionShare& share() const { return share_; }
  bool claim(std::size_t counter) { return share_.claim({1, static_cast<std::uint32_t>(counter), false}); }

  std::atomic<int> asked{0};
  Ref<Counters> claims;
  Ref<Allowance> allowance;
  MemoryQuota quota;
};

class UserSharesTest : public ::testing::Test {
 protected:
  Ref<UserShares> user_ = make_ref<UserShares>(kDevices);
};

TEST_F(UserSharesTest, AUsersLimitHoldsForTheSumOfSessionsToTheByte) {
  Process one(user_), other(user_);
  EXPECT_TRUE(one.quota.reserve(kHost, 4'999));
  EXPECT_TRUE(other.quota.reserve(kHost, 3'001));
  EXPECT_FALSE(one.quota.reserve(kHost, 1));
  EXPECT_FALSE(other.quota.reserve(kHost, 1));
  EXPECT_EQ(user_->used(kHost), kOfUser);
  one.quota.give_back(kHost, 10);
  EXPECT_TRUE(other.quota.reserve(kHost, 10));
  EXPECT_FALSE(other.quota.reserve(kHost, 1));
  EXPECT_TRUE(one.quota.reserve(0, kOfSession)) << "each device counts for itself";
  EXPECT_FALSE(one.quota.reserve(0, 1));
}

TEST_F(UserSharesTest, WhatIsLeftOverIsFoundAndTheRestNeedsNoQuestion) {
  Process one(user_), idle(user_), other(user_);
  EXPECT_TRUE(one.quota.reserve(kHost, 100));
  EXPECT_EQ(one.asked, 0) << "it has a share from the beginning";
  EXPECT_TRUE(other.quota.reserve(kHost, kOfSession));
  EXPECT_TRUE(one.quota.reserve(kHost, kOfUser - kOfSession - 100)) << "what the idle one does not use";
  EXPECT_EQ(user_->used(kHost), kOfUser);
}

TEST_F(UserSharesTest, CommandsLeaveAnEighthToTheRest) {
  Process one(user_), other(user_);
  EXPECT_TRUE(one.quota.reserve(kHost, 4'000, true));
  EXPECT_FALSE(other.quota.reserve(kHost, 3'001, true));
  EXPECT_TRUE(other.quota.reserve(kHost, 3'000, true));
  EXPECT_FALSE(other.quota.reserve(kHost, 1, true));
  EXPECT_TRUE(other.quota.reserve(kHost, 1'000));
}

TEST_F(UserSharesTest, WithoutALimitNobodyIsAsked) {
  Process one(user_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(one.quota.reserve(one.quota.sockets(), std::uint64_t{1} << 40));
  EXPECT_EQ(one.asked, 0);
}

TEST_F(UserSharesTest, WhateverAProcessWritesOthersHaveTheRest) {
  Process other(user_);
  for (const std::uint64_t claimed : {UINT64_MAX, std::uint64_t{1} << 63, kOfUser, kOfSession + 1}) {
    Process hostile(user_);
    for (std::size_t counter = 0; counter < kLayout.claims(); ++counter) (*hostile.claims)[counter] = claimed;
    for (std::size_t counter = 0; counter < kLayout.claims(); ++counter) EXPECT_TRUE(hostile.claim(counter));
    EXPECT_EQ(user_->used(kHost), kOfSession) << "at most the session's limit";
    EXPECT_TRUE(other.quota.reserve(kHost, kOfUser - kOfSession));
    EXPECT_FALSE(other.quota.reserve(kHost, 1));
    other.quota.give_back(kHost, kOfUser - kOfSession);
  }
  EXPECT_EQ(user_->used(kHost), 0u) << "a page is forgotten with its process";
  EXPECT_TRUE(other.quota.reserve(kHost, kOfSession));
}

TEST_F(UserSharesTest, ZerosVoidNoLimitOfOthers) {
  Process honest(user_), other(user_), hostile(user_);
  EXPECT_TRUE(honest.quota.reserve(kHost, kOfSession));
  for (int i = 0; i < 10; ++i) {
    for (std::size_t counter = 0; counter < kLayout.claims(); ++counter) (*hostile.claims)[counter] = 0;
    EXPECT_TRUE(hostile.claim(kHost));
  }
  EXPECT_FALSE(other.quota.reserve(kHost, kOfUser - kOfSession + 1));
  EXPECT_TRUE(other.quota.reserve(kHost, kOfUser - kOfSession));
}

TEST_F(UserSharesTest, ThereAreNoOtherCounters) {
  Process hostile(user_);
  EXPECT_FALSE(hostile.claim(kLayout.claims()));
  EXPECT_FALSE(hostile.claim(UINT32_MAX));
}

TEST_F(UserSharesTest, AllowancesAreReadOnlyAndNoPageCanShrink) {
  Process hostile(user_);
  const int allowances = hostile.share().allowances();
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, allowances, 0), MAP_FAILED);
  const Descriptor again(::open(("/proc/self/fd/" + std::to_string(allowances)).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  void* const read = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, allowances, 0);
  ASSERT_NE(read, MAP_FAILED);
  EXPECT_NE(::mprotect(read, 4096, PROT_READ | PROT_WRITE), 0);
  ::munmap(read, 4096);
  EXPECT_LT(::pwrite(allowances, "x", 1, 0), 0);
  for (const int page : {allowances, hostile.share().claims()}) {
    EXPECT_NE(::ftruncate(page, 0), 0);
    EXPECT_NE(::ftruncate(page, 1 << 20), 0);
    EXPECT_NE(::fcntl(page, F_ADD_SEALS, F_SEAL_WRITE), 0);
  }
}

// No order of what happens at the same time lets the sum exceed the limit, or loses some of it.
TEST_F(UserSharesTest, TheLimitHoldsAmongThreadsOfSeveralProcesses) {
  Process processes[] = {Process(user_), Process(user_), Process(user_)};
  std::atomic<std::uint64_t> sum{0}, highest{0};
  std::barrier all_there(6);
  const auto work = [&](Process& process, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<std::uint64_t> held;
    all_there.arrive_and_wait();
    for (int i = 0; i < 20'000; ++i) {
      if (i % 50 == 0) std::this_thread::yield();  // or one would be done before the next one begins
      const std::uint64_t size = 1 + random() % 700;
      if (random() % 2 == 0 && process.quota.reserve(kHost, size)) {
        held.push_back(size);
        const std::uint64_t now = sum += size;
        for (std::uint64_t before = highest; before < now && !highest.compare_exchange_weak(before, now);) {
        }
      } else if (!held.empty()) {
        sum -= held.back();
        process.quota.give_back(kHost, held.back());
        held.pop_back();
      }
    }
    for (const std::uint64_t size : held) {
      sum -= size;
      process.quota.give_back(kHost, size);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) threads.emplace_back([&, i] { work(processes[i % 3], i + 1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(highest, kOfUser);
  EXPECT_EQ(user_->used(kHost), 0u);
  EXPECT_TRUE(processes[0].quota.reserve(kHost, kOfSession));
  EXPECT_TRUE(processes[1].quota.reserve(kHost, kOfUser - kOfSession));
  EXPECT_FALSE(processes[2].quota.reserve(kHost, 1));
}

TEST_F(UserSharesTest, BandwidthIsCountedForAllProcessesTogether) {
  constexpr std::uint64_t kRate = 1'000'000;
  Process one(user_, kRate), other(user_, kRate);
  RateLimit ours(kRate, one.allowance, 0), theirs(kRate, other.allowance, 0);
  EXPECT_EQ(ours.debt(), 0s);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t sent = 0;
  for (RateLimit* limit = &ours; sent < 400'000; limit = limit == &ours ? &theirs : &ours) {
    while (limit->debt() > 0s) std::this_thread::sleep_for(std::min<TokenBucket::Duration>(limit->debt(), 5ms));
    limit->take(20'000);
    sent += 20'000;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  // As much as the rate allows, but for a burst and what each may send before it says so.
  EXPECT_GT(time.count(), 0.4 - 0.25);
}

TEST_F(UserSharesTest, NobodyIsKeptFromSendingByWhatAProcessSays) {
  constexpr std::uint64_t kRate = 1'000'000;
  Process honest(user_, kRate), hostile(user_, kRate);
  for (int i = 0; i < 100; ++i) {
    (*hostile.claims)[kLayout.sent(0)] += UINT64_MAX / 3;
    EXPECT_TRUE(hostile.claim(kLayout.sent(0)));
  }
  RateLimit limit(kRate, honest.allowance, 0);
  limit.take(kRate / 10);
  limit.debt();  // tells the daemon
  EXPECT_GT(limit.debt(), 0s);
  EXPECT_LT(limit.debt(), 300ms);
}

}  // namespace
}  // namespace remotecl::testing
