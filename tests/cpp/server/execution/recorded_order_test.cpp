#include "server/execution/recorded_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace remotecl::server {
namespace {

using Places = std::vector<std::uint32_t>;

TEST(RecordedOrderTest, CommandsWaitForWhatTheyName) {
  RecordedOrder order;
  order.add_command({});
  order.add_command(Places{0});
  order.add_command(Places{1, 0, 1});
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.places()[0].after, Places{});
  EXPECT_EQ(order.places()[1].after, Places{0});
  EXPECT_EQ(order.places()[2].after, (Places{0, 1}));
  EXPECT_EQ(order.last(), (Places{2, 3}));
}

TEST(RecordedOrderTest, BarrierJoinsWhatNothingWaitsFor) {
  RecordedOrder order;
  order.add_command({});
  order.add_command({});
  order.add_command(Places{1});
  order.add_point({}, true, true);
  order.add_command({});
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.places()[3].after, (Places{0, 2}));
  EXPECT_FALSE(order.places()[3].is_idle);
  EXPECT_EQ(order.places()[4].after, Places{3});
  EXPECT_EQ(order.places()[5].after, Places{3});
  EXPECT_EQ(order.last(), (Places{4, 5}));
}

TEST(RecordedOrderTest, BarrierBehindOneCommandNeedsNothing) {
  RecordedOrder order;
  order.add_command({});
  order.add_point({}, true, true);
  order.add_command({});
  order.add_point(Places{2}, false, false);
  order.add_command(Places{3});
  order.finish();
  EXPECT_TRUE(order.places()[1].is_idle);
  EXPECT_EQ(order.places()[2].after, Places{0});
  EXPECT_TRUE(order.places()[3].is_idle);
  EXPECT_EQ(order.places()[4].after, Places{2});
  EXPECT_EQ(order.last(), Places{4});
}

TEST(RecordedOrderTest, BarrierWithAListLeavesTheOthersOpen) {
  RecordedOrder order;
  order.add_command({});
  order.add_command({});
  order.add_point(Places{1}, false, true);
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.places()[3].after, Places{1});
  EXPECT_EQ(order.last(), (Places{0, 3}));
}

TEST(RecordedOrderTest, NothingAtAll) {
  RecordedOrder order;
  order.add_point({}, true, true);
  order.add_point(Places{0}, false, true);
  order.finish();
  EXPECT_EQ(order.last(), Places{});
}

// Against the definition: what each place must come after, spelled out as sets.
TEST(RecordedOrderTest, KeepsEveryOrderThatIsAskedFor) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    RecordedOrder order;
    std::vector<std::vector<bool>> required;  // [place][earlier]
    std::vector<bool> always;                 // of the last barrier
    const std::size_t count = 1 + random() % 14;
    for (std::uint32_t place = 0; place < count; ++place) {
      Places waits;
      for (std::uint32_t earlier = 0; earlier < place; ++earlier) {
        if (random() % 5 == 0) waits.push_back(earlier);
      }
      const bool is_point = random() % 3 == 0;
      const bool is_barrier = is_point && random() % 2 == 0;
      const bool for_all = is_point && waits.empty();
      std::vector<bool> after = always;
      after.resize(count);
      for (std::uint32_t earlier = 0; earlier < place; ++earlier) {
        const bool named = for_all || std::find(waits.begin(), waits.end(), earlier) != waits.end();
        if (!named) continue;
        after[earlier] = true;
        for (std::uint32_t i = 0; i < place; ++i) after[i] = after[i] || required[earlier][i];
      }
      required.push_back(after);
      if (is_point) {
        order.add_point(waits, for_all, is_barrier);
      } else {
        order.add_command(waits);
      }
      if (is_barrier) {
        always = after;
        always[place] = true;
      }
    }
    order.finish();
    std::vector<std::vector<bool>> kept(count, std::vector<bool>(count));  // transitively, by what the driver is told
    const auto close = [&](const Places& places, std::vector<bool>& set) {
      for (const std::uint32_t earlier : places) {
        EXPECT_FALSE(order.places()[earlier].is_idle);
        set[earlier] = true;
        for (std::size_t i = 0; i < count; ++i) set[i] = set[i] || kept[earlier][i];
      }
    };
    for (std::size_t place = 0; place < count; ++place) close(order.places()[place].after, kept[place]);
    std::vector<bool> at_end(count);
    close(order.last(), at_end);
    for (std::size_t place = 0; place < count; ++place) {
      const bool is_idle = order.places()[place].is_idle;
      ASSERT_TRUE(is_idle || at_end[place]) << "the end does not wait for " << place;
      for (std::size_t earlier = 0; earlier < place; ++earlier) {
        if (order.places()[earlier].is_idle) continue;
        ASSERT_EQ(kept[place][earlier], required[place][earlier])
            << place << " after " << earlier << " in round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace remotecl::server
