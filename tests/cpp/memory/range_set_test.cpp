#include "runtime/memory/range_set.h"

#include <gtest/gtest.h>

#include <random>

#include "residency_vocabulary.h"

namespace remotecl {
namespace {

Ranges missing(const RangeSet& set, ByteRange range) {
  Ranges parts;
  set.for_each_missing(range, [&parts](ByteRange part) { parts.push_back(part); });
  return parts;
}

TEST(RangeSetTest, EmptySetMissesEverything) {
  const RangeSet set;
  EXPECT_EQ(missing(set, {5, 10}), (Ranges{{5, 10}}));
  EXPECT_EQ(missing(set, {5, 0}), Ranges{});
}

TEST(RangeSetTest, NeighboursBecomeOne) {
  RangeSet set;
  set.add({10, 10});
  set.add({30, 10});
  set.add({0, 0});
  EXPECT_EQ(set.ranges(), (Ranges{{10, 10}, {30, 10}}));
  set.add({20, 10});
  EXPECT_EQ(set.ranges(), (Ranges{{10, 30}}));
}

TEST(RangeSetTest, MissesTheGaps) {
  RangeSet set;
  set.add({10, 10});
  set.add({30, 10});
  EXPECT_EQ(missing(set, {0, 50}), (Ranges{{0, 10}, {20, 10}, {40, 10}}));
  EXPECT_EQ(missing(set, {12, 4}), Ranges{});
  EXPECT_EQ(missing(set, {15, 10}), (Ranges{{20, 5}}));
}

TEST(RangeSetTest, AgreesWithASetOfBytes) {
  constexpr std::uint64_t kBytes = 40;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    RangeSet set;
    std::vector<bool> model(kBytes);
    for (int step = 0; step < 12; ++step) {
      const std::uint64_t begin = random() % kBytes;
      const ByteRange range{begin, random() % (kBytes - begin + 1)};
      std::vector<bool> found(kBytes);
      for (const ByteRange& part : missing(set, range)) {
        for (std::uint64_t i = 0; i < part.size; ++i) found[part.offset + i] = true;
      }
      for (std::uint64_t i = 0; i < kBytes; ++i) {
        const bool inside = i >= range.offset && i < range.offset + range.size;
        ASSERT_EQ(found[i], inside && !model[i]);
        if (inside) model[i] = true;
      }
      set.add(range);
    }
    for (std::size_t i = 1; i < set.ranges().size(); ++i) {
      ASSERT_GT(set.ranges()[i].offset, set.ranges()[i - 1].offset + set.ranges()[i - 1].size);
    }
  }
}

}  // namespace
}  // namespace remotecl
