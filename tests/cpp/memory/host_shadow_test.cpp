#include "runtime/memory/host_shadow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace remotecl {
namespace {

bool always(ByteRange) { return true; }
bool never(ByteRange) { return false; }

class HostShadowTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 100'000;
  static constexpr ByteRange kAll{0, kSize};

  HostShadowTest() { shadow_.take(kAll); }
  void write(std::uint64_t at, std::uint64_t size, int value) { std::memset(memory_.data() + at, value, size); }

  std::vector<std::byte> memory_ = std::vector<std::byte>(kSize);
  HostShadow shadow_{memory_.data(), kSize};
};

TEST_F(HostShadowTest, FirstLookTakesTheMemory) {
  HostShadow shadow(memory_.data(), kSize);
  write(10, 20, 1);
  EXPECT_TRUE(shadow.take_changes({50, 10}, always).empty());
  write(12, 3, 2);
  EXPECT_EQ(shadow.take_changes(kAll, always), (std::vector<ByteRange>{{12, 3}}));
}

TEST_F(HostShadowTest, ChangesAreExactAndTakenOnce) {
  write(0, 1, 1);
  write(4095, 2, 2);  // over the end of a block
  write(kSize - 1, 1, 3);
  EXPECT_EQ(shadow_.take_changes(kAll, always), (std::vector<ByteRange>{{0, 1}, {4095, 2}, {kSize - 1, 1}}));
  EXPECT_TRUE(shadow_.take_changes(kAll, always).empty());
}

TEST_F(HostShadowTest, LooksNowhereElse) {
  write(100, 10, 1);
  EXPECT_TRUE(shadow_.take_changes({0, 100}, always).empty());
  EXPECT_TRUE(shadow_.take_changes({110, 100}, always).empty());
  EXPECT_EQ(shadow_.take_changes({105, 100}, always), (std::vector<ByteRange>{{105, 5}}));
  EXPECT_EQ(shadow_.take_changes(kAll, always), (std::vector<ByteRange>{{100, 5}}));
}

TEST_F(HostShadowTest, CloseChangesAreOneWhereTheyMayBe) {
  const auto change = [&](int value) {
    write(100, 10, value);
    write(200, 10, value);
    write(5000, 10, value);
  };
  change(1);
  EXPECT_EQ(shadow_.take_changes(kAll, never), (std::vector<ByteRange>{{100, 10}, {200, 10}, {5000, 10}}));
  change(2);
  EXPECT_EQ(shadow_.take_changes(kAll, always), (std::vector<ByteRange>{{100, 110}, {5000, 10}}));
}

TEST_F(HostShadowTest, ManyChangesAreFewRanges) {
  std::vector<std::byte> memory(8u << 20);
  HostShadow shadow(memory.data(), memory.size());
  shadow.take({0, memory.size()});
  for (std::size_t at = 0; at < memory.size(); at += 512) memory[at] = std::byte{1};
  const std::vector<ByteRange> changes = shadow.take_changes({0, memory.size()}, always);
  EXPECT_LE(changes.size(), 1024u);
  EXPECT_EQ(changes.back().offset + changes.back().size, memory.size() - 511);
}

TEST_F(HostShadowTest, WhatADeviceHasComesBesideWhatTheApplicationHasWritten) {
  std::vector<std::byte> device = memory_;
  device[10] = device[20] = device[5000] = std::byte{7};
  write(11, 2, 9);
  shadow_.merge(kAll, device.data());
  EXPECT_EQ(memory_[10], std::byte{7});
  EXPECT_EQ(memory_[11], std::byte{9});
  EXPECT_EQ(memory_[20], std::byte{7});
  EXPECT_EQ(memory_[5000], std::byte{7});
  EXPECT_EQ(shadow_.take_changes(kAll, never), (std::vector<ByteRange>{{11, 2}}));
}

// Both sides write bytes of their own and exchange them, at random.
TEST_F(HostShadowTest, TwoWritersAgree) {
  std::vector<std::byte> device = memory_;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t at = random() % (kSize / 2) * 2;
      memory_[at] = static_cast<std::byte>(random());
      device[at + 1] = static_cast<std::byte>(random());
    }
    if (random() % 2 == 0) shadow_.merge(kAll, device.data());
    for (const ByteRange& change : shadow_.take_changes(kAll, never)) {
      std::memcpy(device.data() + change.offset, memory_.data() + change.offset, change.size);
    }
    shadow_.merge(kAll, device.data());
    ASSERT_EQ(memory_, device) << round;
  }
}

}  // namespace
}  // namespace remotecl
