// Random commands while socket calls fail, inside of the client and of three servers: connections that are reset where
// nobody expects it, and calls that do less than they were asked for. No session and no link is lost, and every byte
// counts. REMOTECL_TEST_SEED repeats a run but for its timing, REMOTECL_TEST_FAULTS makes it longer.
#include "support/socket_faults.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

#include "icd/fixture.h"
#include "icd/random_commands.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

constexpr std::uint32_t kOneIn = 300;
constexpr int kLinks = 3;  // of three servers

SocketFaults* g_faults = nullptr;

std::uint64_t faults_wanted() {
  const char* const given = std::getenv("REMOTECL_TEST_FAULTS");
  return given != nullptr ? std::stoull(given) : 100;
}

std::uint64_t faults() {
  const auto counts = g_faults->counts();
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

class SocketFaultsTest : public ::testing::Test {
 protected:
  ~SocketFaultsTest() override { g_faults->set_one_in(0); }

  // Commands until all links are there: one that is lost stays so for a few seconds, and is seen.
  void connect_all() {
    RandomCommands commands(context_, test_seed());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (connected_links() < kLinks && std::chrono::steady_clock::now() < end) commands.step();
    commands.expect_all();
    ASSERT_EQ(connected_links(), kLinks);
  }

  Owned<cl_context> context_ = make_context(Environment::get().devices());
};

TEST_F(SocketFaultsTest, NoSessionAndNoLinkIsLost) {
  ASSERT_NO_FATAL_FAILURE(connect_all());
  g_faults->set_one_in(kOneIn);
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 2; ++i) {
    threads.emplace_back([&, i] {
      try {
        RandomCommands commands(context_, test_seed() + i);
        while (!enough) commands.step();
        commands.expect_all();
        EXPECT_EQ(commands.lost(), 0u) << "a session was lost";
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        enough = true;
      }
    });
  }
  while (!enough) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(connected_links(), kLinks) << "after " << faults() << " faults";
    if (faults() >= faults_wanted() || HasFailure()) enough = true;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connected_links(), kLinks);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Environment::get().daemon(i).running());
  const auto counts = g_faults->counts();
  std::cout << counts[SocketFaults::kReset] << " resets, " << counts[SocketFaults::kShort] << " short counts, "
            << counts[SocketFaults::kInterrupted] << " interruptions, " << counts[SocketFaults::kWouldBlock]
            << " calls that would block\n";
}

// A client's first connections are tried again, too.
TEST_F(SocketFaultsTest, EveryClientConnects) {
  Daemon daemon({g_faults->preloaded(), g_faults->setting()}, {"--no-store"});
  const std::string& address = daemon.address();
  const auto connect = library_function<decltype(remotecl_connect)>("remotecl_connect");
  const auto disconnect = library_function<decltype(remotecl_disconnect)>("remotecl_disconnect");
  const auto free_text = library_function<decltype(remotecl_free)>("remotecl_free");
  g_faults->set_one_in(30);
  for (int i = 0; i < 60; ++i) {
    char* error = nullptr;
    ASSERT_EQ(connect(address.c_str(), &error), 0) << "connection " << i << ": " << error;
    ASSERT_EQ(disconnect(address.c_str(), &error), 0) << error;
    free_text(error);
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  using namespace remotecl::testing;
  ::testing::InitGoogleTest(&argc, argv);
  std::cout << "repeat with REMOTECL_TEST_SEED=" << test_seed() << '\n';
  const auto file = "remotecl-socket-faults-" + std::to_string(::getpid());
  SocketFaults faults((std::filesystem::temp_directory_path() / file).string(), test_seed());
  g_faults = &faults;
  ::setenv("REMOTECL_HEARTBEAT", "1", 1);
  std::vector<std::string> settings{"REMOTECL_HEARTBEAT=1", faults.preloaded(), faults.setting()};
  if (std::getenv("REMOTECL_TEST_SHARED_MEMORY") == nullptr) {  // bulk data would pass the sockets by
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    settings.emplace_back("REMOTECL_SHARED_MEMORY=off");
  }
  const bool speaks_tls = std::getenv("REMOTECL_TEST_TLS") != nullptr;
  ::testing::AddGlobalTestEnvironment(new Environment(3, settings, speaks_tls));
  return RUN_ALL_TESTS();
}
