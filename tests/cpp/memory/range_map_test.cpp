#include "runtime/memory/range_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "residency_vocabulary.h"

namespace remotecl {
namespace {

struct Named {
  ByteRange range;
  int name;
};

class RangeMapTest : public ::testing::Test {
 protected:
  void add(ByteRange range, int name) { map_.add({range, name}); }
  Ranges ranges_in(ByteRange range) const {
    Ranges found;
    map_.for_each(range, [&found](const Named& one) { found.push_back(one.range); });
    return found;
  }
  // The names of those that had no other bytes.
  std::vector<int> take(ByteRange range) {
    std::vector<int> names;
    map_.take(
        range, [](const Named&) { return true; }, [&names](Named&& one) { names.push_back(one.name); });
    return names;
  }

  RangeMap<Named> map_;
};

TEST_F(RangeMapTest, OnlyWhatIntersectsIsVisited) {
  for (std::uint64_t i = 0; i < 1000; ++i) add({10 * i, 10}, static_cast<int>(i));
  EXPECT_EQ(ranges_in({25, 10}), (Ranges{{20, 10}, {30, 10}}));
  EXPECT_EQ(ranges_in({30, 10}), (Ranges{{30, 10}}));
  EXPECT_EQ(ranges_in({10'000, 5}), Ranges{});
  EXPECT_EQ(map_.find({9'999, 100})->name, 999);
  EXPECT_EQ(map_.find({10'000, 1}), nullptr);
}

TEST_F(RangeMapTest, TakenBytesAreCutOut) {
  add({0, 100}, 1);
  add({100, 10}, 2);
  EXPECT_EQ(take({40, 20}), std::vector<int>{});
  EXPECT_EQ(ranges_in({0, 200}), (Ranges{{0, 40}, {60, 40}, {100, 10}}));
  EXPECT_EQ(take({0, 10}), std::vector<int>{});
  EXPECT_EQ(take({60, 45}), std::vector<int>{1});
  EXPECT_EQ(ranges_in({0, 200}), (Ranges{{10, 30}, {105, 5}}));
}

TEST_F(RangeMapTest, AConditionSparesValues) {
  add({0, 10}, 1);
  add({10, 10}, 2);
  map_.take(
      {5, 10}, [](const Named& one) { return one.name == 2; }, [](Named&&) {});
  EXPECT_EQ(ranges_in({0, 20}), (Ranges{{0, 10}, {15, 5}}));
  map_.erase_if({0, 1}, [](const Named& one) { return one.name == 2; });
  EXPECT_EQ(map_.size(), 2u);
  map_.erase_if({0, 20}, [](const Named& one) { return one.name == 1; });
  EXPECT_EQ(ranges_in({0, 20}), (Ranges{{15, 5}}));
}

// Every byte has the value that was added last, and none has one that was taken.
TEST_F(RangeMapTest, DoesWhatAModelDoes) {
  std::mt19937 random(5);
  std::map<std::uint64_t, int> model;
  for (int step = 0; step < 20'000; ++step) {
    const ByteRange range{random() % 200, 1 + random() % 30};
    take(range);
    for (std::uint64_t at = 0; at < range.size; ++at) model.erase(range.offset + at);
    if (random() % 3 != 0) {
      add(range, step);
      for (std::uint64_t at = 0; at < range.size; ++at) model[range.offset + at] = step;
    }
    std::map<std::uint64_t, int> found;
    map_.for_each({0, 300}, [&found](const Named& one) {
      ASSERT_NE(one.range.size, 0u);
      for (std::uint64_t at = 0; at < one.range.size; ++at) found[one.range.offset + at] = one.name;
    });
    ASSERT_EQ(found, model) << "step " << step;
  }
}

}  // namespace
}  // namespace remotecl
