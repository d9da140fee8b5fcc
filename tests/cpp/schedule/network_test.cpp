#include "runtime/schedule/network.h"

#include <gtest/gtest.h>

#include <limits>

namespace remotecl::schedule {
namespace {

TEST(NetworkTest, ALinkOfTwoServersIsGuessedUntilItIsMeasured) {
  Network network;
  const ServerId one = network.add_server({1e9, 1e-3}, {1e10, 1e-6});
  const ServerId other = network.add_server({2e9, 2e-3}, {1e11, 0});
  EXPECT_DOUBLE_EQ(network.between(kClient, one).seconds(1'000'000'000), 1.001);
  EXPECT_DOUBLE_EQ(network.between(other, kClient).latency, 2e-3);
  EXPECT_DOUBLE_EQ(network.between(one, other).bytes_per_s, 1e9);
  EXPECT_DOUBLE_EQ(network.between(one, other).latency, 3e-3);
  EXPECT_DOUBLE_EQ(network.between(one, one).bytes_per_s, 1e10);
  network.set_link(other, one, {5e9, 0});
  EXPECT_DOUBLE_EQ(network.between(one, other).bytes_per_s, 5e9);
  EXPECT_DOUBLE_EQ(network.between(other, one).bytes_per_s, 5e9);
  const ServerId third = network.add_server({1e6, 0}, {1e10, 0});
  EXPECT_DOUBLE_EQ(network.between(third, other).bytes_per_s, 1e6);
  network.set_access(third, {1e8, 0});
  EXPECT_DOUBLE_EQ(network.between(third, other).bytes_per_s, 1e8);
}

TEST(NetworkTest, NonsenseBecomesTheDefault) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const double figure : {kNan, kInf, -kInf, -1.0}) {
    Network network;
    const ServerId server = network.add_server({figure, figure}, {figure, figure});
    network.set_link(server, kClient, {figure, figure});
    EXPECT_EQ(network.between(kClient, server).seconds(1000), Link().seconds(1000));
    EXPECT_EQ(network.between(server, server).seconds(1000), Link().seconds(1000));
  }
}

}  // namespace
}  // namespace remotecl::schedule
