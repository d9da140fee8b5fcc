#include "extras/scheduling/schedule/network.h"

#include <gtest/gtest.h>

#include <limits>

namespace remotecl::schedule {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

TEST(NetworkTest, ALinkOfTwoServersIsGuessedUntilItIsMeasured) {
  Network network;
  const ServerId one = network.add_server({1e9, 1e-3}, {1e10, 1e-6});
  const ServerId other = network.add_server({2e9, 2e-3}, {1e11, 0});
  EXPECT_DOUBLE_EQ(network.seconds(kClient, one, kGiga), 1.001);
  EXPECT_DOUBLE_EQ(network.seconds(other, kClient, kGiga), 0.502);
  EXPECT_DOUBLE_EQ(network.seconds(one, other, kGiga), 1.003) << "the slower one, and as far as both";
  EXPECT_DOUBLE_EQ(network.seconds(one, one, kGiga), 0.100001);
  network.set_link(other, one, {5e9, 0});
  EXPECT_DOUBLE_EQ(network.seconds(one, other, kGiga), 0.2);
  EXPECT_DOUBLE_EQ(network.seconds(other, one, kGiga), 0.2);
  const ServerId third = network.add_server({1e8, 0}, {1e10, 0});
  EXPECT_DOUBLE_EQ(network.seconds(third, other, kGiga), 10.002);
  network.set_access(third, {1e9, 0}, {1e9, 0});
  EXPECT_DOUBLE_EQ(network.seconds(third, other, kGiga), 1.002);
}

TEST(NetworkTest, TheWayToAServerMayBeFasterThanTheWayBack) {
  Network network;
  const ServerId one = network.add_server({1e9, 0}, {1e10, 0}), other = network.add_server({1e9, 0}, {1e10, 0});
  network.set_access(one, {4e9, 1}, {5e8, 2});
  EXPECT_DOUBLE_EQ(network.seconds(kClient, one, kGiga), 1.25);
  EXPECT_DOUBLE_EQ(network.seconds(one, kClient, kGiga), 4);
  EXPECT_DOUBLE_EQ(network.seconds(one, other, kGiga), 4);
  EXPECT_DOUBLE_EQ(network.seconds(other, one, kGiga), 2);
  for (const ServerId from : {kClient, other}) {
    EXPECT_LE(network.least_seconds(one, kGiga), network.seconds(from, one, kGiga));
  }
}

TEST(NetworkTest, NonsenseBecomesTheDefault) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const double figure : {kNan, kInf, -kInf, -1.0}) {
    Network network;
    const ServerId server = network.add_server({figure, figure}, {figure, figure});
    network.set_link(server, kClient, {figure, figure});
    EXPECT_DOUBLE_EQ(network.seconds(kClient, server, 1000), Link().seconds(1000));
    EXPECT_DOUBLE_EQ(network.seconds(server, server, 1000), Link().seconds(1000));
  }
}

}  // namespace
}  // namespace remotecl::schedule
