// A session on two servers while something cannot be had: the n-th thread, descriptor, piece of memory or of the disk,
// for every n, and all from the n-th on. Nothing crashes or hangs, a refusal names what is short, a session of others
// goes on, and afterwards everything works. A run does this to one process: REMOTECL_TEST_RESOURCES names it ("client",
// "daemon" or "session", which is the process of an isolated session); otherwise the date chooses.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <regex>

#include "fakes/wire/wire_client.h"
#include "icd/fake_driver.h"
#include "support/resource_faults.h"

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = ResourceFaults::Kind;
constexpr std::chrono::seconds kPatience{20};

struct Setup {
  std::string process;
  ResourceFaults* faults;
};
Setup g_setup;

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"None", "Thread", "Descriptor", "Memory", "Disk"};
  return kNames[kind];
}

// What a refusal may say.
std::regex words_of(Kind kind) {
  constexpr const char* kWords[] = {"", "[Tt]hread|Resource temporarily unavailable",
                                    "[Tt]oo many open files|descriptor", "memory|bad_alloc|there is no answer",
                                    "[Nn]o space"};
  const bool is_of_server = kind == Kind::kMemory && g_setup.process == "daemon";
  // Or an error of OpenCL that says it, CL_OUT_OF_RESOURCES or CL_OUT_OF_HOST_MEMORY, or what an event has that waited
  // for such a command: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
  return std::regex(std::string(is_of_server ? "out of memory on the server|no memory" : kWords[kind]) +
                    "|OpenCL error -(5|6|14) |could not start a process for the session; its log says why");
}

struct Outcome {
  int status;
  std::string words;
};

// Runs a session in a process of its own. `limits`: of ulimit, if any.
Outcome run_session(std::vector<std::string> environment, std::uint64_t victim = 0, const std::string& limits = "") {
  static int round = 0;
  Environment& servers = Environment::get();
  const std::string first = servers.daemon(0).address();
  environment.insert(environment.end(), {"OCL_ICD_VENDORS=" REMOTECL_LIBRARY, "REMOTECL_RECONNECT=3",
                                         "REMOTECL_SERVERS=" + first + "," + servers.daemon(1).address()});
  std::vector<std::string> command{REMOTECL_RESOURCES_SESSION, first, std::to_string(victim), std::to_string(++round)};
  if (!limits.empty()) command.insert(command.begin(), {"/bin/sh", "-c", "ulimit " + limits + "; exec \"$@\"", "sh"});
  ChildProcess process(std::move(command), environment);
  const int status = process.wait(Clock::now() + kPatience);
  if (status == ChildProcess::kRunning && std::getenv("REMOTECL_TEST_STOP_AT_HANG") != nullptr) {
    std::cerr << "process " << process.id() << " hangs, daemon " << servers.daemon(0).process() << '\n';
    ::pause();
  }
  return {status, process.output()};
}

// A session of somebody else's.
class Bystander {
 public:
  static Bystander& get() {
    static auto& bystander = *new Bystander;
    return bystander;
  }

  // A kernel, and transfers both ways.
  bool works() try {
    for (const auto& queue : queues_) {
      const std::vector<int> numbers(1000, ++value_);
      check(clEnqueueWriteBuffer(queue, buffer_, CL_FALSE, 0, 4000, numbers.data(), 0, nullptr, nullptr));
      check(set_arg(kernel_, 0, buffer_));
      check(set_arg(kernel_, 1, 1));
      check(run(queue, kernel_, numbers.size()));
      if (read<int>(queue, buffer_, 1000) != std::vector<int>(1000, value_ + 1)) return false;
    }
    return true;
  } catch (const std::exception& error) {
    std::cout << "another session: " << error.what() << '\n';
    return false;
  }

 private:
  Owned<cl_context> context_ = make_context(Environment::get().devices());
  Owned<cl_command_queue> queues_[2] = {make_queue(context_, Environment::get().devices()[0]),
                                        make_queue(context_, Environment::get().devices()[1])};
  Owned<cl_program> program_ = build(context_, "add_mv");
  Owned<cl_kernel> kernel_ = make_kernel(program_, "add_mv");
  Owned<cl_mem> buffer_ = make_buffer(context_, 4000);
  int value_ = 0;
};

class ResourcesTest : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  void SetUp() override {
    // In sessions' processes it also hits the other session.
    if (GetParam() == Kind::kMemory && g_setup.process == "session") GTEST_SKIP() << "not of sessions' processes";
    ASSERT_TRUE(Bystander::get().works());
  }
  void TearDown() override { g_setup.faults->end(); }

  // Returns the number of calls that failed.
  std::uint64_t round(std::uint64_t first, std::uint64_t last) {
    SCOPED_TRACE(::testing::Message() << name_of(GetParam()) << " " << first << " to " << last);
    std::vector<std::string> environment;
    if (g_setup.process == "client") environment = {"LD_PRELOAD=" REMOTECL_RESOURCE_FAULTS, g_setup.faults->setting()};
    const WireClient victim(parse_address(Environment::get().daemon(0).address(), 0));
    g_setup.faults->begin(GetParam(), g_setup.process == "session", first, last);
    const Outcome outcome = run_session(environment, victim.welcome().session);
    calls_ = g_setup.faults->calls();
    was_refused_ = outcome.status != 0;
    const std::uint64_t failed = g_setup.faults->end();
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 1) << "status " << outcome.status << ": " << outcome.words;
    if (outcome.status == 1) {
      EXPECT_TRUE(std::regex_search(outcome.words, words_of(GetParam()))) << outcome.words;
      EXPECT_EQ(outcome.words.find("check the address"), std::string::npos) << outcome.words;
    }
    for (int i = 0; i < 2; ++i) {
      if (!Environment::get().daemon(i).running()) throw std::runtime_error("the daemon has ended");
    }
    EXPECT_TRUE(Bystander::get().works());
    return failed;
  }

  // What has passed needs no other proof than the next round.
  void expect_fresh_session() {
    if (!was_refused_) return;
    const Outcome fresh = run_session({});
    EXPECT_EQ(fresh.status, 0) << "a new session: " << fresh.words;
  }

  std::uint64_t calls_ = 0;
  bool was_refused_ = false;
};

TEST_P(ResourcesTest, TheNthFails) {
  const char* const only = std::getenv("REMOTECL_TEST_RESOURCES_NTH");
  const std::uint64_t begin = only != nullptr ? std::stoull(only) : 1;
  for (std::uint64_t n = begin; round(n, n) != 0; ++n) {
    expect_fresh_session();
    if (only != nullptr) return;
  }
  std::cout << calls_ << " calls\n";
}

// More and more succeed before.
TEST_P(ResourcesTest, AllFromTheNthOnFail) {
  for (std::uint64_t n = 1; round(n, kAll) != 0; n += 1 + n / 2) expect_fresh_session();
}

// From outside, as a user's shell does it.
TEST(LimitsTest, FewDescriptorsAreSaidToBeFew) {
  const Outcome outcome = run_session({}, 0, "-n 16");
  EXPECT_EQ(outcome.status, 1) << outcome.words;
  EXPECT_NE(outcome.words.find("Too many open files"), std::string::npos) << outcome.words;
  EXPECT_EQ(outcome.words.find("check the address"), std::string::npos) << outcome.words;
}

TEST(LimitsTest, SmallFilesAreNoReasonToEndTheProgram) {
  const Outcome outcome = run_session({}, 0, "-f 1024");
  EXPECT_EQ(outcome.status, 0) << outcome.words;
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResourcesTest,
                         ::testing::Values(Kind::kThread, Kind::kDescriptor, Kind::kMemory, Kind::kDisk),
                         [](const auto& each) { return name_of(each.param); });

std::string chosen_process() {
  constexpr const char* kProcesses[] = {"client", "daemon", "session"};
  const char* const given = std::getenv("REMOTECL_TEST_RESOURCES");
  return given != nullptr ? given : kProcesses[std::time(nullptr) / 86400 % std::size(kProcesses)];
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  using namespace remotecl::testing;
  namespace fs = std::filesystem;
  ::setenv("REMOTECL_LOG", "off", 1);
  ::testing::InitGoogleTest(&argc, argv);
  const std::string folder =
      (fs::temp_directory_path() / ("remotecl-resources-" + std::to_string(::getpid()))).string();
  fs::create_directories(folder);
  ResourceFaults faults(folder + "/faults");
  g_setup = {chosen_process(), &faults};
  std::cout << "in the process REMOTECL_TEST_RESOURCES=" << g_setup.process << '\n';
  const std::vector<std::string> both{"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "REMOTECL_RECONNECT=3"};
  std::vector<std::string> afflicted = both, other = both;
  // The folder is where the store is.
  afflicted.insert(afflicted.end(), {"REMOTECL_FAKE_DRIVER=gpu=1", "XDG_CACHE_HOME=" + folder + "/afflicted"});
  other.insert(other.end(), {"REMOTECL_FAKE_DRIVER=cpu=1", "XDG_CACHE_HOME=" + folder + "/other"});
  if (g_setup.process != "client") {
    afflicted.insert(afflicted.end(), {"LD_PRELOAD=" REMOTECL_RESOURCE_FAULTS, faults.setting()});
  }
  if (g_setup.process == "session") ::setenv("REMOTECL_TEST_ISOLATE", "1", 1);
  ::testing::AddGlobalTestEnvironment(Environment::with_environments({afflicted, other}, {"--store", "default"}));
  const int result = RUN_ALL_TESTS();
  fs::remove_all(folder);
  return result;
}
