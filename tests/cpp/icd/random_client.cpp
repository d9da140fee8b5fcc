// A client of REMOTECL_TEST_SERVERS, some of which are killed meanwhile: gives them random commands from two threads
// and checks every result. It says "ready" when that is possible, goes on until its standard input ends, and says which
// devices it has lost, a bit for each.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "icd/environment.h"
#include "icd/random_commands.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

// What no call may take beyond the time for which lost connections are tried again.
constexpr std::chrono::milliseconds kCallMax = 10s;

std::chrono::milliseconds window() {
  const char* seconds = std::getenv("REMOTECL_RECONNECT");
  return std::chrono::milliseconds(seconds != nullptr ? static_cast<int>(1000 * std::stod(seconds)) : 30'000);
}

struct Outcome {
  std::mutex mutex;
  Locations lost = 0;
  std::size_t commands = 0, failures = 0;
  std::chrono::milliseconds longest_call{0};

  void add(const RandomCommands& player) {
    const std::lock_guard lock(mutex);
    lost |= player.lost();
    commands += player.commands();
    failures += player.failures();
    longest_call = std::max(longest_call, player.longest_call());
  }
};

void play(cl_context context, std::uint64_t seed, std::latch& ready, const std::atomic<bool>& enough,
          Outcome& outcome) {
  std::mt19937_64 random(seed);
  RandomCommands commands(context, seed);
  ready.count_down();
  while (!enough) {
    commands.step();
    // Not at once: what comes after a failure has to be right as well.
    if (!commands.has_failures() || random() % 10 != 0) continue;
    commands.expect_all();
    commands.repair();
  }
  commands.expect_all();
  outcome.add(commands);
}

TEST(RandomClientTest, EveryResultIsRightOrAnError) {
  const Owned<cl_context> context = make_context(Environment::get().all_devices());
  std::latch ready(2);
  std::atomic<bool> enough{false};
  Outcome outcome;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      try {
        play(context, test_seed() * 2 + i, ready, enough, outcome);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        std::cout.flush();
        ::_exit(1);  // the other thread may wait
      }
    });
  }
  ready.wait();
  std::cout << "ready\n" << std::flush;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  enough = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(outcome.longest_call, window() + kCallMax);
  std::cout << "lost=" << static_cast<unsigned>(outcome.lost) << "\ncommands=" << outcome.commands
            << "\nfailures=" << outcome.failures << "\nlongest_call_ms=" << outcome.longest_call.count() << '\n';
}

}  // namespace
}  // namespace remotecl::testing

// To a leak sanitizer: sessions, and what they keep, live as long as the process.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return 1; }

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 0);  // servers are lost on purpose
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3));
  return RUN_ALL_TESTS();
}
