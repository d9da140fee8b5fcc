// What of many sessions' loads is reported to one of them.
#include "server/status/session_load.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace remotecl::server {
namespace {

constexpr std::uint32_t kDevices[] = {0, 1};

SessionLoad session(std::uint64_t id, double weight, std::vector<double> queued) {
  SessionLoad load{id, {}};
  for (const double seconds : queued) load.devices.push_back({seconds, weight});
  return load;
}

bool same(const LoadOfDevice& load, std::uint32_t index, std::uint64_t queued, std::uint64_t weight) {
  return load.index == index && load.queued_us == queued && load.weight_thousandths == weight;
}

TEST(LoadsOfOthers, AddUpWithoutTheAskersOwn) {
  const SessionLoad sessions[] = {session(1, 1, {5, 5}), session(2, 2, {0.25, 0}), session(3, 0.5, {0.5, 1})};
  const auto loads = loads_of_others(sessions, 1, kDevices);
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_TRUE(same(loads[0], 0, 750'000, 2500));
  EXPECT_TRUE(same(loads[1], 1, 1'000'000, 500)) << "a user without work there does not count";
}

// A device serves sessions, each by its user's weight (DeviceTurns).
TEST(LoadsOfOthers, EachSessionHasItsUsersWeight) {
  const SessionLoad sessions[] = {session(1, 3, {1}), session(2, 3, {1}), session(3, 3, {1}), session(4, 2, {1}),
                                  session(5, 2, {1})};
  EXPECT_TRUE(same(loads_of_others(sessions, 1, kDevices)[0], 0, 4'000'000, 10'000));
  EXPECT_TRUE(same(loads_of_others(sessions, 4, kDevices)[0], 0, 4'000'000, 11'000));
}

TEST(LoadsOfOthers, HaveNumbersWhateverTheSessionsSay) {
  const double infinity = std::numeric_limits<double>::infinity();
  const SessionLoad sessions[] = {session(1, 1e-9, {1e-12, infinity})};
  const auto loads = loads_of_others(sessions, 2, kDevices);
  EXPECT_TRUE(same(loads[0], 0, 1, 1)) << "a little is not nothing";
  EXPECT_GT(loads[1].queued_us, 1'000'000'000u);
  EXPECT_TRUE(same(loads_of_others({}, 2, kDevices)[1], 1, 0, 0));
  const SessionLoad odd[] = {session(1, 1, {std::nan("")})};
  EXPECT_TRUE(same(loads_of_others(odd, 2, kDevices)[0], 0, 0, 0));
}

TEST(ReportedLoads, OnlyNotableChangesAreReported) {
  ReportedLoads known;
  const auto changes = [&known](std::uint64_t queued, std::uint64_t weight) {
    const LoadOfDevice load{0, queued, weight};
    const auto found = known.changes({&load, 1});
    known.reported(found);
    return found.size();
  };
  EXPECT_EQ(changes(0, 0), 1u) << "the first report names every device";
  EXPECT_EQ(changes(0, 0), 0u);
  EXPECT_EQ(changes(1000, 1000), 1u);
  EXPECT_EQ(changes(1100, 1000), 0u);
  EXPECT_EQ(changes(1101, 1000), 1u);
  EXPECT_EQ(changes(991, 1000), 0u);
  EXPECT_EQ(changes(990, 1000), 1u);
  EXPECT_EQ(changes(990, 2000), 1u);
  EXPECT_EQ(changes(1, 1), 1u);
  EXPECT_EQ(changes(0, 0), 1u);
  EXPECT_EQ(changes(1, 1), 1u);
}

TEST(ReportedLoads, SlowChangesAddUp) {
  ReportedLoads known;
  std::size_t reports = 0;
  for (std::uint64_t queued = 1000; queued < 2000; queued += 10) {
    const LoadOfDevice load{0, queued, 1};
    const auto found = known.changes({&load, 1});
    known.reported(found);
    reports += found.size();
  }
  EXPECT_GT(reports, 5u);
  EXPECT_LT(reports, 10u);
}

}  // namespace
}  // namespace remotecl::server
