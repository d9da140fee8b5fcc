#include "runtime/base/index_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace remotecl {
namespace {

std::vector<std::uint32_t> numbers(const IndexSet& set) {
  std::vector<std::uint32_t> numbers;
  set.for_each([&](std::uint32_t number) { numbers.push_back(number); });
  return numbers;
}

TEST(IndexSetTest, StartsEmpty) {
  const IndexSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(0));
  EXPECT_FALSE(set.contains(1000));
  EXPECT_FALSE(set.contains_other_than(3));
  EXPECT_EQ(numbers(set), std::vector<std::uint32_t>{});
}

TEST(IndexSetTest, EqualityIgnoresWhatSetsOnceHeld) {
  IndexSet set{3};
  set.add(1000);
  EXPECT_NE(set, IndexSet{3});
  set.remove(1000);
  EXPECT_EQ(set, IndexSet{3});
  EXPECT_EQ(IndexSet{3}, set);
  EXPECT_TRUE(set.is_only(3));
  set.remove(3);
  EXPECT_TRUE(set.empty());
}

TEST(IndexSetTest, CopiesAndMovesAreSetsOfTheirOwn) {
  for (const std::uint32_t number : {5u, 500u}) {
    const IndexSet first{number};
    IndexSet copy = first;
    copy.add(700);
    EXPECT_EQ(first, IndexSet{number});
    IndexSet moved = std::move(copy);
    EXPECT_EQ(moved, (IndexSet{number, 700}));
    moved = first;
    EXPECT_EQ(moved, first);
    moved = IndexSet{7};
    EXPECT_EQ(moved, IndexSet{7});
    const IndexSet& same = moved;
    moved = same;
    EXPECT_EQ(moved, IndexSet{7});
  }
}

TEST(IndexSetTest, AgreesWithASetOfNumbers) {
  std::mt19937 random;
  for (const std::uint32_t below : {64u, 65u, 1025u}) {
    IndexSet set;
    std::set<std::uint32_t> model;
    for (int i = 0; i < 5000; ++i) {
      const std::uint32_t number = random() % below, other = random() % below;
      if (random() % 3 == 0) {
        set.add(number);
        model.insert(number);
      } else {
        set.remove(number);
        model.erase(number);
      }
      ASSERT_EQ(numbers(set), std::vector<std::uint32_t>(model.begin(), model.end()));
      ASSERT_EQ(set.empty(), model.empty());
      ASSERT_EQ(set.contains(other), model.contains(other));
      ASSERT_EQ(set.contains_other_than(other), model.size() > (model.contains(other) ? 1u : 0u));
      ASSERT_EQ(set.is_only(other), model.size() == 1 && model.contains(other));
    }
  }
}

}  // namespace
}  // namespace remotecl
