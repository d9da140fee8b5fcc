#include "runtime/transport/threads/helper_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

namespace remotecl {
namespace {

TEST(HelperThreadsTest, DoesEachPartOnceAndWaitsForAll) {
  HelperThreads team(3);
  ASSERT_TRUE(team.is_there());
  std::array<int, 4> counts{};  // plain: what the parts have written is seen when run() returns
  for (int i = 0; i < 2000; ++i) team.run([&](unsigned part) { ++counts[part]; });
  for (const int count : counts) EXPECT_EQ(count, 2000);
}

TEST(HelperThreadsTest, PartsRunSideBySide) {
  HelperThreads team(2);
  ASSERT_TRUE(team.is_there());
  std::atomic<unsigned> begun{0};
  team.run([&](unsigned) {
    ++begun;
    while (begun != 3) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 3u);
}

TEST(HelperThreadsTest, ThrowsWhatAPartHasThrownWhenAllHaveEnded) {
  HelperThreads team(2);
  ASSERT_TRUE(team.is_there());
  for (unsigned thrower = 0; thrower < 3; ++thrower) {
    std::atomic<unsigned> ended{0};
    EXPECT_THROW(team.run([&](unsigned part) {
      ++ended;
      if (part == thrower) throw std::bad_alloc();
    }),
                 std::bad_alloc);
    EXPECT_EQ(ended, 3u);
  }
  EXPECT_NO_THROW(team.run([](unsigned) {}));
}

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

TEST(HelperThreadsTest, CopiesEverythingAndNothingElse) {
  HelperThreads team(1);
  for (const std::size_t size : {0u, 1u, 4095u, 65535u, 65536u, 65537u, 1'000'003u}) {
    const auto from = random_bytes(size, static_cast<unsigned>(size));
    std::vector<std::byte> to(size + 2, std::byte{0x5a});
    team.copy(MutableBytes(to).subspan(1, size), from);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
    EXPECT_EQ(to.front(), std::byte{0x5a});
    EXPECT_EQ(to.back(), std::byte{0x5a});
  }
}

// With pauses in which the helpers fall asleep, and without; more at once than may have one.
TEST(HelperThreadsTest, ManyThreadsCopyAtOnce) {
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      HelperThreads team(1);
      std::mt19937 random(thread);
      const auto from = random_bytes(300'000, thread);
      std::vector<std::byte> to(from.size());
      for (int round = 0; round < 200; ++round) {
        std::fill(to.begin(), to.end(), std::byte{0});
        team.copy(to, from);
        ASSERT_EQ(to, from) << "thread " << thread << ", round " << round;
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(HelperThreadsTest, MayEndUnused) { HelperThreads team(7); }

}  // namespace
}  // namespace remotecl
