// Random programs, each of which says before what it will see, on one to three servers. REMOTECL_TEST_SEED repeats one,
// REMOTECL_TEST_STEPS says how many steps they have together. REMOTECL_TEST_SHARED_MEMORY, REMOTECL_TEST_TLS and
// REMOTECL_TEST_ISOLATE choose what is between client and servers, REMOTECL_TEST_NATIVE the machine's own driver in
// place of all that.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "icd/environment.h"
#include "icd/random_commands.h"
#include "icd/random_program.h"
#include "runtime/base/stoppable_thread.h"

namespace remotecl::testing {
namespace {

constexpr std::chrono::seconds kPatience{90};  // for one step

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

std::size_t wanted_steps() {
  const char* given = std::getenv("REMOTECL_TEST_STEPS");
  return given != nullptr ? std::stoul(given) : 1500;
}

// Ends the process if the program does not go on.
class Watchdog {
 public:
  Watchdog() {
    MutexLock lock(thread_.mutex);
    thread_.start();
  }
  ~Watchdog() { thread_.stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(std::uint64_t seed, const RandomProgram& program) {
    seed_ = seed;
    program_ = &program;
  }
  void step() { ++steps_; }

 private:
  void run() {
    std::uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    MutexLock lock(thread_.mutex);
    while (!thread_.is_stopping()) {
      const auto now = std::chrono::steady_clock::now();
      thread_.wait_until(now + std::chrono::seconds(1));
      if (steps_ != seen) {
        seen = steps_;
        since = now;
      }
      if (now - since < kPatience) continue;
      std::cout << "hangs: REMOTECL_TEST_SEED=" << seed_ << '\n' << program_.load()->history() << std::flush;
      std::abort();
    }
  }

  std::atomic<std::uint64_t> seed_{0}, steps_{0};
  std::atomic<const RandomProgram*> program_{nullptr};
  StoppableThread thread_{[this] { run(); }};
};

std::vector<cl_device_id> some_devices(std::uint64_t seed) {
  if (is_set("REMOTECL_TEST_NATIVE")) return {Environment::get().native_device()};
  const auto& all = Environment::get().all_devices();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(1 + seed % all.size())};
}

TEST(RandomProgramsTest, SeeWhatOpenClPromises) {
  Watchdog watchdog;
  std::uint64_t seed = test_seed();
  std::size_t done = 0, commands = 0, programs = 0;
  for (; done < wanted_steps(); ++seed, ++programs) {
    const std::size_t steps = 30 + seed % 7 * 60;
    RandomProgram program(some_devices(seed), seed);
    watchdog.begin(seed, program);
    for (std::size_t i = 0; i < steps && !HasFailure(); ++i) {
      program.step();
      watchdog.step();
    }
    program.settle();
    done += steps;
    commands += program.commands();
    if (!HasFailure()) continue;
    std::cout << program.history() << "repeat with REMOTECL_TEST_SEED=" << seed << " REMOTECL_TEST_STEPS=1\n";
    break;
  }
  std::cout << programs << " programs, " << done << " steps, " << commands << " commands\n";
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::cout << "repeat with REMOTECL_TEST_SEED=" << remotecl::testing::test_seed() << '\n';
  std::vector<std::string> settings;
  if (!remotecl::testing::is_set("REMOTECL_TEST_SHARED_MEMORY")) {
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    settings.emplace_back("REMOTECL_SHARED_MEMORY=off");
  }
  ::testing::AddGlobalTestEnvironment(
      new remotecl::testing::Environment(3, settings, remotecl::testing::is_set("REMOTECL_TEST_TLS")));
  return RUN_ALL_TESTS();
}
