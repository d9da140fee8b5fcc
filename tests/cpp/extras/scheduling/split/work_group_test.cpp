#include "extras/scheduling/split/work_group.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

Extent group_of(const Extent& global, cl_uint dimension, std::uint64_t parts = 2,
                GroupLimits limits = {64, {64, 64, 64}}) {
  return work_group({3, {0, 0, 0}, global, false, {1, 1, 1}}, dimension, parts, limits);
}

TEST(WorkGroupTest, IsAsLongAsItMayBeInTheFirstDimension) {
  EXPECT_EQ(group_of({1920, 1080, 1}, 1), (Extent{64, 1, 1}));
  EXPECT_EQ(group_of({1 << 20, 1, 1}, 0), (Extent{64, 1, 1}));
}

TEST(WorkGroupTest, AnOddWidthIsFilledFromOtherDimensions) {
  EXPECT_EQ(group_of({1921, 1080, 1}, 1), (Extent{17, 3, 1}));
  EXPECT_EQ(group_of({1931, 1080, 1}, 1), (Extent{1, 64, 1}));  // a prime number
  EXPECT_EQ(group_of({1931, 30, 600}, 2), (Extent{1, 30, 2}));
}

TEST(WorkGroupTest, EachPartHasAGroup) { EXPECT_EQ(group_of({1931, 40, 1}, 1, 4), (Extent{1, 10, 1})); }

TEST(WorkGroupTest, DevicesHaveLimits) {
  EXPECT_EQ(group_of({1931, 1080, 1}, 1, 2, {48, {64, 16, 1}}), (Extent{1, 16, 1}));
  EXPECT_EQ(group_of({1920, 1080, 1}, 1, 2, {1, {1, 1, 1}}), (Extent{1, 1, 1}));
}

}  // namespace
}  // namespace remotecl
