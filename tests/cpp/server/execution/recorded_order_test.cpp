#include "server/execution/recorded_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace remotecl::server {
namespace {

using Indices = std::vector<std::uint32_t>;

TEST(RecordedOrderTest, CommandsWaitForWhatTheyName) {
  RecordedOrder order;
  order.add_command({});
  order.add_command(Indices{0});
  order.add_command(Indices{1, 0, 1});
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.nodes()[0].after, Indices{});
  EXPECT_EQ(order.nodes()[1].after, Indices{0});
  EXPECT_EQ(order.nodes()[2].after, (Indices{0, 1}));
  EXPECT_EQ(order.last(), (Indices{2, 3}));
}

TEST(RecordedOrderTest, BarrierJoinsWhatNothingWaitsFor) {
  RecordedOrder order;
  order.add_command({});
  order.add_command({});
  order.add_command(Indices{1});
  order.add_point({}, true, true);
  order.add_command({});
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.nodes()[3].after, (Indices{0, 2}));
  EXPECT_FALSE(order.nodes()[3].is_idle);
  EXPECT_EQ(order.nodes()[4].after, Indices{3});
  EXPECT_EQ(order.nodes()[5].after, Indices{3});
  EXPECT_EQ(order.last(), (Indices{4, 5}));
}

TEST(RecordedOrderTest, BarrierBehindOneCommandNeedsNothing) {
  RecordedOrder order;
  order.add_command({});
  order.add_point({}, true, true);
  order.add_command({});
  order.add_point(Indices{2}, false, false);
  order.add_command(Indices{3});
  order.finish();
  EXPECT_TRUE(order.nodes()[1].is_idle);
  EXPECT_EQ(order.nodes()[2].after, Indices{0});
  EXPECT_TRUE(order.nodes()[3].is_idle);
  EXPECT_EQ(order.nodes()[4].after, Indices{2});
  EXPECT_EQ(order.last(), Indices{4});
}

TEST(RecordedOrderTest, BarrierWithAListLeavesTheOthersOpen) {
  RecordedOrder order;
  order.add_command({});
  order.add_command({});
  order.add_point(Indices{1}, false, true);
  order.add_command({});
  order.finish();
  EXPECT_EQ(order.nodes()[3].after, Indices{1});
  EXPECT_EQ(order.last(), (Indices{0, 3}));
}

TEST(RecordedOrderTest, NothingAtAll) {
  RecordedOrder order;
  order.add_point({}, true, true);
  order.add_point(Indices{0}, false, true);
  order.finish();
  EXPECT_EQ(order.last(), Indices{});
}

// Against the definition: what each place must come after, spelled out as sets.
TEST(RecordedOrderTest, KeepsEveryOrderThatIsAskedFor) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    RecordedOrder order;
    std::vector<std::vector<bool>> required;  // [place][earlier]
    std::vector<bool> always;                 // of the last barrier
    const std::size_t count = 1 + random() % 14;
    for (std::uint32_t node = 0; node < count; ++node) {
      Indices waits;
      for (std::uint32_t earlier = 0; earlier < node; ++earlier) {
        if (random() % 5 == 0) waits.push_back(earlier);
      }
      const bool is_point = random() % 3 == 0;
      const bool is_barrier = is_point && random() % 2 == 0;
      const bool for_all = is_point && waits.empty();
      std::vector<bool> after = always;
      after.resize(count);
      for (std::uint32_t earlier = 0; earlier < node; ++earlier) {
        const bool named = for_all || std::find(waits.begin(), waits.end(), earlier) != waits.end();
        if (!named) continue;
        after[earlier] = true;
        for (std::uint32_t i = 0; i < node; ++i) after[i] = after[i] || required[earlier][i];
      }
      required.push_back(after);
      if (is_point) {
        order.add_point(waits, for_all, is_barrier);
      } else {
        order.add_command(waits);
      }
      if (is_barrier) {
        always = after;
        always[node] = true;
      }
    }
    order.finish();
    std::vector<std::vector<bool>> kept(count, std::vector<bool>(count));  // transitively, by what the driver is told
    const auto close = [&](const Indices& indices, std::vector<bool>& set) {
      for (const std::uint32_t earlier : indices) {
        EXPECT_FALSE(order.nodes()[earlier].is_idle);
        set[earlier] = true;
        for (std::size_t i = 0; i < count; ++i) set[i] = set[i] || kept[earlier][i];
      }
    };
    for (std::size_t node = 0; node < count; ++node) close(order.nodes()[node].after, kept[node]);
    std::vector<bool> at_end(count);
    close(order.last(), at_end);
    for (std::size_t node = 0; node < count; ++node) {
      const bool is_idle = order.nodes()[node].is_idle;
      ASSERT_TRUE(is_idle || at_end[node]) << "the end does not wait for " << node;
      for (std::size_t earlier = 0; earlier < node; ++earlier) {
        if (order.nodes()[earlier].is_idle) continue;
        ASSERT_EQ(kept[node][earlier], required[node][earlier])
            << node << " after " << earlier << " in round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace remotecl::server
