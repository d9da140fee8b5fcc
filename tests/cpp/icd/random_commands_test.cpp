// Random commands on queues of three servers, from two threads, over a bad network, against a model that does them one
// after another. Every byte counts. REMOTECL_TEST_SEED repeats a run, REMOTECL_TEST_STEPS makes it longer.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <thread>

#include "icd/automatic_device.h"
#include "icd/fixture.h"
#include "icd/random_commands.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

std::size_t steps() {
  const char* given = std::getenv("REMOTECL_TEST_STEPS");
  return given != nullptr ? std::stoul(given) : 150;
}

template <class Condition>
bool soon(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class RandomCommandsTest : public ::testing::TestWithParam<int> {
 protected:
  std::uint64_t own_seed() const { return test_seed() * 1000 + static_cast<std::uint64_t>(GetParam()) * 10; }

  Owned<cl_context> context_ = make_context(Environment::get().all_devices());
};

void run_in_two_threads(cl_context context, std::uint64_t seed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([context, seed, i] {
      try {
        RandomCommands commands(context, seed + static_cast<std::uint64_t>(i));
        commands.refuse_some();
        for (std::size_t done = 0; done < steps(); ++done) commands.step();
        commands.expect_all();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(RandomCommandsTest, GiveTheBytesOfTheSequentialModel) { run_in_two_threads(context_, own_seed()); }

#ifdef REMOTECL_HAS_SCHEDULING
// Round robin moves nearly every kernel to another server than the one before.
TEST_P(RandomCommandsTest, GiveTheSameBytesOnTheAutomaticDevice) {
  run_in_two_threads(make_context({automatic_device("round-robin")}), own_seed());
}

TEST_P(RandomCommandsTest, GiveTheSameBytesOnTheAutomaticDeviceThatLearns) {
  run_in_two_threads(make_context({automatic_device("earliest-finish")}), own_seed());
}
#endif

// What happens to connections costs time, and nothing else. REMOTECL_TEST_FAULTS is how often something does. With
// REMOTECL_TEST_TLS bytes are corrupted, too.
TEST(FaultsTest, EveryCommandIsCarriedOutOnce) {
  const Owned<cl_context> context = make_context(Environment::get().all_devices());
  std::atomic<bool> enough{false};
  std::array<std::atomic<std::uint64_t>, 2> steps_done{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < steps_done.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        RandomCommands commands(context, test_seed() + i);
        commands.refuse_some();
        while (!enough) {
          commands.step();
          ++steps_done[i];
          if (commands.lost() != 0) enough = true;
        }
        commands.expect_all();
        EXPECT_EQ(commands.lost(), 0u) << "a session was lost";
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        enough = true;
      }
    });
  }
  std::mt19937_64 random(test_seed());
  std::array<int, FaultRelay::kFaultKinds> counts{};
  const char* wanted = std::getenv("REMOTECL_TEST_FAULTS");
  // So many without a step of both threads: on a loaded machine, more would break connections faster than they are made
  // again, until the time for that is over.
  constexpr int kFaultsInARow = 32;
  int in_a_row = 0;
  std::array<std::uint64_t, 2> seen{};
  while (!enough) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    if (steps_done[0] != seen[0] && steps_done[1] != seen[1]) {
      in_a_row = 0;
      seen = {steps_done[0], steps_done[1]};
    }
    for (std::size_t relay = 0; relay < 3; ++relay) Environment::get().relay(relay).end_silent();
    if (++in_a_row > kFaultsInARow) continue;
    Environment::get().relay(random() % 3).disturb(random);
    counts = {};
    for (std::size_t relay = 0; relay < 3; ++relay) {
      for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        counts[kind] += Environment::get().relay(relay).faults()[kind];
      }
    }
    if (std::accumulate(counts.begin(), counts.end(), 0) >= (wanted == nullptr ? 60 : std::atoi(wanted))) enough = true;
  }
  for (std::size_t relay = 0; relay < 3; ++relay) Environment::get().relay(relay).settle();
  for (std::thread& thread : threads) thread.join();
  std::cout << counts[FaultRelay::kCut] << " cuts, " << counts[FaultRelay::kNearLost] << " and "
            << counts[FaultRelay::kFarLost] << " lost at one end, " << counts[FaultRelay::kStall] << " stalls, "
            << counts[FaultRelay::kCorruption] << " corruptions\n";
}

// Where nobody connects again (REMOTECL_RECONNECT=0). While nothing is on its way: that would be lost.
TEST(LostLinksTest, ServersThatLoseEachOtherGoOnAndFindEachOtherAgain) {
  if (std::getenv("REMOTECL_RECONNECT") == nullptr) GTEST_SKIP() << "links that are carried on are not lost";
  const Owned<cl_context> context = make_context(Environment::get().all_devices());
  RandomCommands commands(context, test_seed());
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 6; ++round) {
    for (std::size_t done = 0; done < steps() / 3; ++done) commands.step();
    commands.settle();
    const int before = connected_links();
    ASSERT_TRUE(round != 0 || before == 3) << before;
    // Two connections make a link.
    const int ended = Environment::get().relay(round == 0 ? 2 : random() % 3).cut_peers() / 2;
    ASSERT_TRUE(round != 0 || ended > 0);
    EXPECT_TRUE(soon([&] { return connected_links() <= before - ended; })) << "nobody noticed";
  }
  commands.expect_all();
  EXPECT_TRUE(soon([&] {
    commands.step();
    return connected_links() == 3;
  }));
  commands.expect_all();
}

INSTANTIATE_TEST_SUITE_P(Rounds, RandomCommandsTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 0);  // links are lost on purpose
  ::testing::InitGoogleTest(&argc, argv);
  std::cout << "repeat with REMOTECL_TEST_SEED=" << remotecl::testing::test_seed() << '\n';
  remotecl::testing::FaultRelay::Faults faults;
  faults.seed = remotecl::testing::test_seed();
  faults.corrupts = std::getenv("REMOTECL_TEST_TLS") != nullptr;
  ::setenv("REMOTECL_HEARTBEAT", "1", 1);  // a corrupted size is noticed within three
  std::vector<std::string> settings{"REMOTECL_HEARTBEAT=1"};
  if (std::getenv("REMOTECL_TEST_SHARED_MEMORY") == nullptr) {  // it would pass the bad network by
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    settings.emplace_back("REMOTECL_SHARED_MEMORY=off");
  }
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3, faults, settings));
  return RUN_ALL_TESTS();
}
