// Thousands of calls that are valid or slightly wrong, against a daemon of their own: none may end it, or the client,
// and what the native driver does remotecl does, too, unless it finds an argument invalid. REMOTECL_TEST_MISTAKES is
// how many, REMOTECL_TEST_SEED chooses others. Natively each crash takes a process.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/daemon.h"

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Some calls never come back from a native driver.
constexpr std::chrono::seconds kRemoteCallMax{20}, kNativeCallMax{2};
constexpr int kSuccess = 0, kDeviceNotAvailable = -2, kAllocationFailure = -4, kOutOfResources = -5, kCopyOverlap = -8;
constexpr int kInvalidFirst = -30;  // CL_INVALID_VALUE; others follow below

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : fallback;
}

// What a native driver makes of a wrong call is an outcome. A sanitizer's report of it does not count among those that
// are collected in files.
std::vector<std::string> without_report_files() {
  std::vector<std::string> environment;
  for (const char* const name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* const given = std::getenv(name);
    if (given != nullptr) environment.push_back(std::string(name) + "=" + given + ":log_path=stderr");
  }
  return environment;
}

struct Outcome {
  std::string call;
  std::optional<int> code;  // none: it crashed, or did not come back
};

// A folder that makes the loader show remotecl alone.
class OnlyRemotecl {
 public:
  OnlyRemotecl() {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make a folder for the .icd file");
    std::ofstream(folder_ + "/remotecl.icd") << REMOTECL_LIBRARY << '\n';
  }
  ~OnlyRemotecl() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "remotecl-mistakes-XXXXXX").string();
};

class MistakesTest : public ::testing::Test {
 protected:
  const std::uint64_t seed_ = number_from("REMOTECL_TEST_SEED", 1);
  const std::uint64_t count_ = number_from("REMOTECL_TEST_MISTAKES", 1000);

  // Calls from `outcomes.size()` on, until one does not come back.
  void play(const char* side, const std::vector<std::string>& environment, std::chrono::seconds call_max,
            std::vector<Outcome>& outcomes) const {
    ChildProcess client({REMOTECL_MISTAKEN_CLIENT, side, std::to_string(seed_), std::to_string(outcomes.size()),
                         std::to_string(count_)},
                        environment);
    std::size_t said = 0;
    while (client.wait(Clock::now() + call_max) == ChildProcess::kRunning && client.output().size() != said) {
      said = client.output().size();
    }
    std::istringstream lines(client.output());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::uint64_t number = 0;
      Outcome outcome;
      int code = 0;
      words >> number >> outcome.call;
      if (words >> code) outcome.code = code;
      outcomes.push_back(std::move(outcome));
    }
  }

  std::string repeat(std::size_t number) const {
    std::ostringstream text;
    text << "call " << number << ", seed " << seed_ << ": remotecl_mistaken_client remotecl " << seed_ << ' ' << number
         << ' ' << number + 1;
    return text.str();
  }

  std::vector<Outcome> play_remotely() {
    Daemon daemon;
    std::vector<Outcome> outcomes;
    play("remotecl",
         {"OCL_ICD_VENDORS=" + drivers_.folder(), "REMOTECL_SERVERS=" + daemon.address(), "REMOTECL_RECONNECT=0",
          "REMOTECL_LOG=off"},
         kRemoteCallMax, outcomes);
    EXPECT_TRUE(daemon.running()) << "the daemon has ended";
    return outcomes;
  }

  std::vector<Outcome> play_natively() const {
    std::vector<Outcome> outcomes;
    while (outcomes.size() < count_) {
      const std::size_t before = outcomes.size();
      play("native", without_report_files(), kNativeCallMax, outcomes);
      if (outcomes.size() != before) continue;
      if (before == 0) break;   // no driver
      outcomes.emplace_back();  // the process has ended at once, in this call
    }
    return outcomes;
  }

  OnlyRemotecl drivers_;
};

// Whether remotecl may say so where the native driver carries the call out, which may be laxer than the specification
// or need less for itself. PoCL, for one, lets parts of one buffer be copied onto each other.
bool may_refuse(int code) {
  return code <= kInvalidFirst || code == kOutOfResources || code == kAllocationFailure || code == kCopyOverlap;
}

TEST_F(MistakesTest, EndNobodyAndAreAnsweredAsNatively) {
  const std::vector<Outcome> remote = play_remotely();
  for (std::size_t i = 0; i < remote.size(); ++i) {
    ASSERT_TRUE(remote[i].code) << remote[i].call << " did not come back; " << repeat(i);
    ASSERT_NE(remote[i].code, kDeviceNotAvailable) << remote[i].call << " lost the server; " << repeat(i);
  }
  ASSERT_EQ(remote.size(), count_);
  ASSERT_GT(std::count_if(remote.begin(), remote.end(), [](const Outcome& one) { return one.code == kSuccess; }),
            static_cast<std::ptrdiff_t>(count_ / 4));
  const std::vector<Outcome> native = play_natively();
  if (native.empty()) GTEST_SKIP() << "no native driver to compare with";
  ASSERT_EQ(native.size(), count_);
  std::size_t crashes = 0, stricter = 0, laxer = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!native[i].code) {
      ++crashes;
    } else if (native[i].code == kSuccess && remote[i].code != kSuccess) {
      ++stricter;
      EXPECT_TRUE(may_refuse(*remote[i].code)) << remote[i].call << ": " << *remote[i].code << "; " << repeat(i);
    } else if (native[i].code != kSuccess && remote[i].code == kSuccess) {
      ++laxer;
    }
  }
  std::cout << count_ << " calls, seed " << seed_ << ": " << crashes << " end the native driver, " << stricter
            << " are refused by remotecl alone, " << laxer << " by the native driver alone\n";
  EXPECT_LT(stricter + laxer, count_ / 10);
}

}  // namespace
}  // namespace remotecl::testing
