// Random commands while RDMA is lost, inside of the client and of three servers: queue pairs that go into error while
// data flows, or the network interface that goes down and comes back. No session and no link between servers is lost,
// and every byte counts. REMOTECL_TEST_SEED repeats a run but for its timing, REMOTECL_TEST_FAULTS (queue pairs) makes
// it longer. REMOTECL_TEST_RDMA_AT has the servers' address for RDMA, and REMOTECL_TEST_RDMA_LINK, if it is set, that
// address's interface, which is taken down.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "icd/fixture.h"
#include "icd/random_commands.h"
#include "icd/statistics.h"
#include "support/queue_pair_faults.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kOneIn = 25;
constexpr int kServers = 3;
constexpr int kLinks = 3;
constexpr int kQueuePairs = 2 * (kServers + kLinks);  // both ends
constexpr auto kPatience = 60s;                       // the guest is slow
constexpr auto kSettled = 2s;

QueuePairFaults* g_faults = nullptr;

// Longer than the time after which a device gives up what is not acknowledged, or shorter.
std::chrono::milliseconds random_outage(std::mt19937_64& random) {
  return std::chrono::milliseconds(random() % 2 == 0 ? random() % 500 : 5'000 + random() % 3'000);
}

class RdmaFaultsTest : public ::testing::Test {
 protected:
  ~RdmaFaultsTest() override { g_faults->set_one_in(0); }

  static bool all_connected() { return connected_links() == kLinks && g_faults->usable() == kQueuePairs; }

  // Commands until every connection for bulk data has its queue pair, and no other ones are left. While a connection
  // is made anew, an old queue pair that is not destroyed yet can make up the number, so the number has to last.
  void connect_all() {
    RandomCommands commands(context_, test_seed());
    const auto end = Clock::now() + kPatience;
    for (auto since = Clock::now(); Clock::now() < end && Clock::now() - since < kSettled;) {
      commands.step();
      if (!all_connected()) since = Clock::now();
    }
    commands.expect_all();
    EXPECT_EQ(connected_links(), kLinks);
    EXPECT_EQ(g_faults->usable(), kQueuePairs);
  }

  void start_playing();
  void play(std::uint64_t seed);
  void stop_playing();
  static void expect_all_running();

  Owned<cl_context> context_ = make_context(Environment::get().devices());
  std::vector<std::thread> players_;
  std::atomic<bool> enough_{false};
  std::mt19937_64 random_{test_seed()};
};

void RdmaFaultsTest::start_playing() {
  for (unsigned i = 1; i <= 2; ++i) players_.emplace_back([this, i] { play(test_seed() + i); });
}

void RdmaFaultsTest::stop_playing() {
  enough_ = true;
  for (std::thread& player : players_) player.join();
}

void RdmaFaultsTest::expect_all_running() {
  EXPECT_EQ(connected_links(), kLinks);
  for (int i = 0; i < kServers; ++i) EXPECT_TRUE(Environment::get().daemon(i).running());
}

void RdmaFaultsTest::play(std::uint64_t seed) {
  try {
    RandomCommands commands(context_, seed);
    while (!enough_) commands.step();
    commands.expect_all();
    EXPECT_EQ(commands.lost(), 0u) << "a session was lost";
    EXPECT_EQ(commands.failures(), 0u);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    enough_ = true;
  }
}

TEST_F(RdmaFaultsTest, NoSessionAndNoLinkIsLostAndRdmaComesBack) {
  connect_all();
  if (HasFailure()) return;
  const char* const given = std::getenv("REMOTECL_TEST_FAULTS");
  const std::uint64_t faults = given != nullptr ? std::stoull(given) : 30;
  const std::uint64_t made = g_faults->made();
  start_playing();
  g_faults->set_one_in(kOneIn);
  while (g_faults->total() < faults && !HasFailure()) {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(connected_links(), kLinks) << "after " << g_faults->total() << " faults";
  }
  g_faults->set_one_in(0);
  stop_playing();
  connect_all();
  expect_all_running();
  const auto counts = g_faults->counts();
  std::cout << counts[QueuePairFaults::kInClient] << " queue pairs in error in the client, "
            << counts[QueuePairFaults::kInServerOfClient] << " and " << counts[QueuePairFaults::kInServerOfServer]
            << " in servers, of the client's and of other servers'; " << g_faults->made() - made
            << " new queue pairs\n";
}

// Whoever does not send is not told. Last of all, and once: Soft-RoCE of Linux 6.1 connects nobody any more after the
// connection manager has sent something while the interface was down.
TEST_F(RdmaFaultsTest, TcpCarriesEverythingOnceTheInterfaceHasGoneDown) {
  const char* const link = std::getenv("REMOTECL_TEST_RDMA_LINK");
  if (link == nullptr) GTEST_SKIP() << "REMOTECL_TEST_RDMA_LINK is not set";
  const auto set = [link](const char* state) {
    ASSERT_EQ(std::system(("ip link set " + std::string(link) + " " + state).c_str()), 0);
  };
  connect_all();
  if (HasFailure()) return;
  start_playing();
  std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 1000));  // transfers are under way
  set("down");
  std::this_thread::sleep_for(random_outage(random_));
  set("up");
  stop_playing();
  expect_all_running();
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  using namespace remotecl::testing;
  ::testing::InitGoogleTest(&argc, argv);
  if (std::getenv("REMOTECL_TEST_RDMA_AT") == nullptr) {
    std::cout << "SKIPPED: REMOTECL_TEST_RDMA_AT is not set\n";
    return 77;
  }
  std::cout << "repeat with REMOTECL_TEST_SEED=" << test_seed() << '\n';
  const auto file = "remotecl-queue-pair-faults-" + std::to_string(::getpid());
  QueuePairFaults faults((std::filesystem::temp_directory_path() / file).string(), test_seed());
  g_faults = &faults;
  ::setenv("REMOTECL_LOG", "off", 0);  // RDMA is lost on purpose
  ::setenv("REMOTECL_RDMA", "auto", 1);
  ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);  // bulk data would pass RDMA by
  ::testing::AddGlobalTestEnvironment(
      new Environment(3, {"REMOTECL_SHARED_MEMORY=off", faults.preloaded(), faults.setting()}));
  return RUN_ALL_TESTS();
}
