#include "runtime/transport/threads/copy_helper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace remotecl {
namespace {

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

// Of any size, with a helper and without one, and not a byte more.
TEST(CopyHelper, CopiesEverythingAndNothingElse) {
  for (const unsigned cores : {1u, 64u}) {
    CopyHelper helper(cores);
    for (const std::size_t size : {0u, 1u, 4095u, 65535u, 65536u, 65537u, 1'000'003u}) {
      const auto from = random_bytes(size, static_cast<unsigned>(size));
      std::vector<std::byte> to(size + 2, std::byte{0x5a});
      helper.copy(MutableBytes(to).subspan(1, size), from);
      EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
      EXPECT_EQ(to.front(), std::byte{0x5a});
      EXPECT_EQ(to.back(), std::byte{0x5a});
    }
  }
}

// With pauses in which the helpers fall asleep, and without; more at once than may have one.
TEST(CopyHelper, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      CopyHelper helper(8);
      std::mt19937 random(thread);
      const auto from = random_bytes(300'000, thread);
      std::vector<std::byte> to(from.size());
      for (int round = 0; round < 200; ++round) {
        std::fill(to.begin(), to.end(), std::byte{0});
        helper.copy(to, from);
        ASSERT_EQ(to, from) << "thread " << thread << ", round " << round;
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace remotecl
