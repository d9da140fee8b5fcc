#include "extras/scheduling/schedule/division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "simulated_launch.h"

namespace remotecl::schedule {
namespace {

constexpr PieceCosts kCosts{.launch = 2e-4, .item = 1e-8};

// What devices know of each other after some launches.
DivisionHistory learned(SimulatedDevices& devices, std::uint64_t items, int launches = 2) {
  DivisionHistory history;
  for (int i = 0; i < launches; ++i) devices.run(history, items, 8, kCosts);
  return history;
}

TEST(DivisionTest, PiecesComeFromTheFrontOfARegionAndShrink) {
  Division division({{1, 1}, {}}, 1200, 10);
  EXPECT_EQ(division.shares(), (std::vector<double>{600, 600}));
  EXPECT_EQ(division.take(0, 0), (Piece{0, 0, 200}));
  EXPECT_EQ(division.take(1, 0), (Piece{1, 600, 200}));
  EXPECT_EQ(division.take(0, 0), (Piece{0, 200, 140})) << "a third of what is left, in whole groups";
  EXPECT_EQ(division.take(1, 0), (Piece{1, 800, 140}));
}

TEST(DivisionTest, SmallPiecesAreNotWorthIt) {
  Division division({{1000, 1000}, {}}, 2000, 1, {.launch = 0.06});
  EXPECT_EQ(division.take(0, 0).count, 1000u) << "what would be left is not worth a launch";
  Division cheap({{1000, 1000}, {}}, 2000, 1);
  EXPECT_EQ(cheap.take(0, 0).count, 333u);
}

TEST(DivisionTest, UnknownDevicesBeginWithTinyPieces) {
  Division division({{0, 0}, {}}, 40960, 10);
  EXPECT_EQ(division.pieces_ahead(0), 1u);
  const Piece first = division.take(0, 0), other = division.take(1, 0);
  EXPECT_EQ(first.count, 10u);
  EXPECT_EQ(other, (Piece{1, 20480, 10}));
  division.ended(first, 1);
  EXPECT_EQ(division.pieces_ahead(0), 1u) << "it may have waited for something";
  const Piece second = division.take(0, 1);
  EXPECT_EQ(second, (Piece{0, 10, 10}));
  division.ended(second, 2);
  EXPECT_EQ(division.pieces_ahead(0), 2u);
  EXPECT_EQ(division.take(0, 2).count, 80u) << "what is fair is not known";
  division.ended(other, 3);
  division.ended(division.take(1, 3), 6);
  EXPECT_EQ(division.shares(), (std::vector<double>{30720, 10240})) << "laid out again by what is known now";
}

TEST(DivisionTest, APieceAsShortAsALaunchSaysNothingOfASpeed) {
  Division division({{0, 0}, {}}, 1 << 20, 1, {.launch = 0.1});
  Time now = 0;
  for (const std::uint64_t count : {8u, 64u, 512u, 4096u, 16384u}) {
    EXPECT_EQ(division.pieces_ahead(0), 1u);
    const Piece piece = division.take(0, now);
    EXPECT_EQ(piece.count, count);
    division.ended(piece, now += 0.1);
  }
  EXPECT_EQ(division.pieces_ahead(0), 2u) << "there is not more to try";
}

TEST(DivisionTest, OneItemIsOnePiece) {
  Division division({{1, 5}, {}}, 1, 64);
  EXPECT_EQ(division.take(0, 0).count, 0u);
  EXPECT_EQ(division.take(1, 0), (Piece{1, 0, 1}));
  EXPECT_TRUE(division.all_taken());
  EXPECT_EQ(division.take(1, 0).count, 0u);
}

TEST(DivisionTest, FewerItemsThanDevices) {
  SimulatedDevices devices{.speeds = {10, 20, 30, 40, 50}, .latency = 1e-3};
  DivisionHistory history;
  for (int launch = 0; launch < 3; ++launch) {
    const SimulatedDevices::Ran ran = devices.run(history, 3, 1, kCosts);
    EXPECT_EQ(ran.pieces, 3u);
  }
}

TEST(DivisionTest, AnEmptyRangeHasNoPieces) {
  Division division({{0, 0}, {}}, 0, 8);
  EXPECT_TRUE(division.all_taken());
  EXPECT_EQ(division.take(0, 0).count, 0u);
}

TEST(DivisionTest, ADeviceThatIsIdleStealsFromTheEndOfTheLastOne) {
  // All devices are thought to be equal, and the first one is faster.
  Division division({{100, 100, 100}, {}}, 3000, 1);
  Time now = 0;
  Piece piece = division.take(0, now);
  division.take(1, now);
  division.take(2, now);
  for (; piece.count > 0 && piece.begin < 1000; piece = division.take(0, now)) {
    division.ended(piece, now += static_cast<double>(piece.count) / 300);
  }
  ASSERT_GT(piece.count, 0u);
  EXPECT_GT(piece.begin, 2000u) << "what is stolen first is the end of the last region";
  EXPECT_FALSE(division.all_taken()) << "its owner keeps the front";
}

TEST(DivisionTest, NothingIsStolenThatMovesForLongerThanItRuns) {
  // The first device is ten times faster than it was thought to be, and ends its region before any piece of the other.
  const auto has_stolen = [](Seconds item) {
    Division division({{100, 100}, {}}, 2000, 1, {.launch = 0, .item = item});
    division.take(1, 0);
    Time now = 0;
    Piece piece = division.take(0, now);
    while (piece.count > 0 && piece.begin < 1000) {
      division.ended(piece, now += static_cast<double>(piece.count) / 1000);
      piece = division.take(0, now);
    }
    return piece.count > 0;
  };
  EXPECT_TRUE(has_stolen(0));
  EXPECT_TRUE(has_stolen(0.0005));
  EXPECT_FALSE(has_stolen(0.002)) << "as far as is known, an item takes 0.001 s where it is";
}

TEST(DivisionTest, RegionsStayWhileSpeedsDifferByLittle) {
  const std::vector<double> shares = {500, 500};
  EXPECT_EQ(Division({{104, 100}, shares}, 1000, 1).shares(), shares);
  EXPECT_EQ(Division({{150, 100}, shares}, 1000, 1).shares(), (std::vector<double>{600, 400}));
  EXPECT_EQ(Division({{104, 100}, shares}, 2000, 1).shares(), (std::vector<double>{1000, 1000})) << "of another range";
}

TEST(DivisionTest, TimeBeforeTheFirstPieceDoesNotCount) {
  // Everything waits for an event for 100 s.
  DivisionHistory history{{100, 100}, {}};
  Division division(history, 2000, 1);
  std::vector<Piece> pieces;
  for (std::uint32_t device = 0; device < 2; ++device) {
    for (int ahead = 0; ahead < 2; ++ahead) pieces.push_back(division.take(device, 0));
  }
  for (const Piece& piece : pieces) {
    division.ended(piece, 100 + static_cast<double>(piece.begin % 1000 + piece.count) / 100);
  }
  for (const double speed : division.learned(200).speeds) EXPECT_NEAR(speed, 100, 1e-6);
}

TEST(DivisionTest, ADeviceWhoseFirstPieceIsLongOverdueIsSlow) {
  Division division({{100, 100}, {}}, 2400, 1);
  EXPECT_EQ(division.take(1, 0).count, 400u);
  Time now = 0;
  for (Piece piece = division.take(0, now); piece.count > 0; piece = division.take(0, now)) {
    division.ended(piece, now += static_cast<double>(piece.count) / 100);
  }
  EXPECT_GT(now, 19) << "all but the piece in flight";
  EXPECT_LT(division.learned(now).speeds[1], 30);
  EXPECT_NEAR(division.learned(now).speeds[0], 100, 1e-6);
}

TEST(DivisionTest, SpeedsThatWereNotMeasuredKeepTheirRatio) {
  Division division({{100, 100, 200}, {}}, 4000, 1);
  const Piece first = division.take(0, 0), second = division.take(0, 0);
  division.ended(first, 1);
  division.ended(second, 1 + static_cast<double>(second.count) / 50);
  const std::vector<double> speeds = division.learned(200).speeds;
  EXPECT_NEAR(speeds[0], 50, 1e-6);
  EXPECT_NEAR(speeds[1], 50, 1);
  EXPECT_NEAR(speeds[2], 100, 2);
}

// Whatever the speeds are, the second launch and all later ones are nearly as fast as they can be, and bytes stay.
TEST(DivisionPropertyTest, LaterLaunchesAreBalancedAndBytesStay) {
  std::mt19937 random(9);
  for (int run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    constexpr std::uint64_t kItems = 100'000;
    SimulatedDevices devices{.latency = 1e-4, .item = 1e-8};
    for (std::size_t i = 2 + random() % 7; i > 0; --i) devices.speeds.push_back(1000.0 * (1 + random() % 20));
    DivisionHistory history;
    const SimulatedDevices::Ran first = devices.run(history, kItems, 8, kCosts);
    EXPECT_GE(first.efficiency, 0.6) << "which explores";
    EXPECT_LE(first.pieces, 25 * devices.speeds.size());
    const SimulatedDevices::Ran second = devices.run(history, kItems, 8, kCosts);
    EXPECT_GE(second.efficiency, 0.95);
    for (int launch = 3; launch <= 5; ++launch) {
      const SimulatedDevices::Ran later = devices.run(history, kItems, 8, kCosts);
      EXPECT_GE(later.efficiency, 0.95);
      EXPECT_EQ(later.shares, second.shares);
      EXPECT_LE(later.moved, kItems / 20);
      EXPECT_LE(later.pieces, 15 * devices.speeds.size()) << "few pieces, since each costs";
    }
  }
}

// A processor beside a graphics card, whose speeds nobody knows: what the processor tries must not be what all wait
// for.
TEST(DivisionPropertyTest, AFirstLaunchDoesNotWaitForADeviceThatIsAThousandTimesSlower) {
  constexpr std::uint64_t kItems = 1u << 24;
  SimulatedDevices devices{.speeds = {1e8, 1e5, 1.5e5}, .latency = 1e-4, .item = 1e-10};
  DivisionHistory history;
  EXPECT_GE(devices.run(history, kItems, 64, kCosts).efficiency, 0.8) << "which explores";
  for (int launch = 2; launch <= 4; ++launch) EXPECT_GE(devices.run(history, kItems, 64, kCosts).efficiency, 0.95);
}

// A device whose first piece waits long, for its bytes or a compiler, has its share in later launches.
TEST(DivisionTest, AFirstPieceThatWaitsSaysNothingOfASpeed) {
  constexpr std::uint64_t kItems = 1u << 20;
  Division division({{0, 0}, {}}, kItems, 64, kCosts);
  Piece waits = division.take(1, 0);
  Time now = 0;
  const auto run = [&](const Piece& piece) {
    division.ended(piece, now += 2e-4 + static_cast<double>(piece.count) / 5e5);
  };
  for (Piece piece = division.take(0, now); piece.count > 0 && now < 0.3; piece = division.take(0, now)) run(piece);
  division.ended(waits, now);
  for (int i = 0; i < 5; ++i) run(division.take(1, now));
  EXPECT_GT(division.learned(now).speeds[1], 1e5);
}

// One work-group takes a core of the processor nearly as long as the graphics card needs for everything, or longer.
TEST(DivisionPropertyTest, ADeviceWhoseShortestPieceIsTooLongLeavesTheRestToOthers) {
  constexpr std::uint64_t kItems = 1u << 24;
  for (const Seconds group : {0.01, 0.03, 0.107, 0.3, 1.0}) {
    SCOPED_TRACE(group);
    SimulatedDevices devices{.speeds = {4.7e7, 64 * 10 / group}, .rounds = {0, group}, .latency = 1e-4, .item = 1e-10};
    DivisionHistory history;
    const Seconds alone = static_cast<double>(kItems) / devices.speeds[0];
    EXPECT_LE(devices.run(history, kItems, 64, kCosts).seconds, std::max(alone * 1.2, 2.1 * group)) << "which explores";
    for (int launch = 2; launch <= 6; ++launch) {
      EXPECT_LE(devices.run(history, kItems, 64, kCosts).seconds, alone * 1.05) << launch;
    }
  }
}

TEST(DivisionPropertyTest, HelpersOfAnyKindDoNotDelayTheFastestDevice) {
  std::mt19937 random(9);
  for (int run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    constexpr std::uint64_t kItems = 1u << 20;
    SimulatedDevices devices{.speeds = {1e7}, .rounds = {0}, .latency = 1e-4, .item = 1e-10};
    for (std::size_t i = 1 + random() % 5; i > 0; --i) {
      devices.speeds.push_back(1e7 * std::exp2(-static_cast<double>(random() % 1400) / 100));
      devices.rounds.push_back(0.2 * std::exp2(-static_cast<double>(random() % 1000) / 100));
    }
    DivisionHistory history = learned(devices, kItems, 3);
    for (int launch = 4; launch <= 6; ++launch) {
      EXPECT_LE(devices.run(history, kItems, 8, kCosts).seconds, kItems / devices.speeds[0] * 1.25);
    }
  }
}

// `run` fails where an item is taken twice, or never.
TEST(DivisionPropertyTest, EachItemIsTakenOnceWhateverIsThoughtOfTheDevices) {
  std::mt19937 random(9);
  const auto between = [&random](double min, double max) {
    return min * std::pow(max / min, static_cast<double>(random()) / std::mt19937::max());
  };
  for (int run = 0; run < 2000; ++run) {
    SCOPED_TRACE(run);
    const auto items = static_cast<std::uint64_t>(between(1, 30'000));
    const PieceCosts costs{.launch = random() % 3 == 0 ? 0 : 2e-4, .item = random() % 3 == 0 ? 0 : between(1e-9, 1e-4)};
    SimulatedDevices devices{.latency = between(1e-6, 1e-2), .item = costs.item * between(0.3, 3)};
    DivisionHistory history;
    for (std::size_t i = 2 + random() % 5; i > 0; --i) {
      devices.speeds.push_back(static_cast<double>(items) / between(1e-4, 1e4));
      devices.rounds.push_back(random() % 3 == 0 ? 0 : between(1e-6, 1));
      history.speeds.push_back(random() % 2 == 0 ? 0 : devices.speeds.back() * between(1e-3, 1e3));
      history.shortest.push_back(random() % 2 == 0 ? 0 : between(1e-5, 1));
    }
    for (int launch = 0; launch < 3; ++launch) {
      devices.run(history, items, std::uint64_t{1} << random() % 7, costs);
      for (const double speed : history.speeds) ASSERT_TRUE(std::isfinite(speed) && speed >= 0);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(DivisionPropertyTest, WrongSpeedsAreMadeUpFor) {
  std::mt19937 random(9);
  for (int run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    constexpr std::uint64_t kItems = 100'000;
    SimulatedDevices devices;
    DivisionHistory history;
    for (std::size_t i = 2 + random() % 6; i > 0; --i) {
      devices.speeds.push_back(100.0 * (1 + random() % 20));
      const double factor = std::exp2(static_cast<double>(random() % 200) / 200 - 0.5);  // up to 1.4
      history.speeds.push_back(devices.speeds.back() * factor);
    }
    EXPECT_GE(devices.run(history, kItems, 8).efficiency, 0.8);
    EXPECT_GE(devices.run(history, kItems, 8).efficiency, 0.95);
  }
}

TEST(DivisionPropertyTest, NoiseMovesLittle) {
  std::mt19937 random(9);
  const std::vector<double> speeds = {100'000, 50'000, 70'000, 300'000};
  constexpr std::uint64_t kItems = 200'000;
  SimulatedDevices devices{.speeds = speeds, .latency = 1e-4, .item = 1e-8};
  DivisionHistory history = learned(devices, kItems);
  std::uint64_t moved = 0;
  for (int launch = 0; launch < 50; ++launch) {
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      devices.speeds[i] = speeds[i] * (1 + 0.04 * (static_cast<double>(random() % 2001) / 1000 - 1));
    }
    const SimulatedDevices::Ran ran = devices.run(history, kItems, 8, kCosts);
    EXPECT_GE(ran.efficiency, 0.95);
    moved += ran.moved;
  }
  EXPECT_LE(moved, 50 * kItems / 50) << "2 % of the bytes in each launch";
}

// Others take over what it had before it, and what it works on is not large.
TEST(DivisionPropertyTest, ADeviceThatBecomesSlowInTheMiddleDelaysLittle) {
  constexpr std::uint64_t kItems = 200'000;
  for (const double factor : {0.75, 0.5}) {
    for (const Time at : {0.0, 0.25, 0.5, 0.75}) {
      SCOPED_TRACE(::testing::Message() << factor << " from " << at << " s on");
      SimulatedDevices devices{.speeds = {50'000, 50'000, 100'000}, .latency = 1e-4, .item = 1e-8};
      DivisionHistory history = learned(devices, kItems);
      devices.change = SimulatedDevices::Change{1, at, 50'000 * factor};
      const SimulatedDevices::Ran ran = devices.run(history, kItems, 8, kCosts);
      const Seconds best = at + (1 - at) * 200'000 / (150'000 + 50'000 * factor);
      EXPECT_LE(ran.seconds, best * 1.06);
    }
  }
}

}  // namespace
}  // namespace remotecl::schedule
