// One process and many daemons on the fake driver: more than 64 servers, more than 63 devices in a context.
// REMOTECL_TEST_DAEMONS says how many; `make many-servers` has 256.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "icd/fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

#ifdef __SANITIZE_THREAD__
constexpr std::size_t kClientThreadsMax = 9;  // one is the sanitizer's
constexpr std::size_t kDaemons = 20;          // of up to 400 MB each
#else
constexpr std::size_t kClientThreadsMax = 8;
constexpr std::size_t kDaemons = 80;
#endif
// Two sockets; two eventfds with which their streams find a new connection; and for shared memory, which is used
// here, an epoll, the process of the other side and the memory.
constexpr std::size_t kDescriptorsOfAServerMax = 7;
constexpr std::size_t kCount = 1024;           // ints of a small buffer
constexpr std::size_t kLargeCount = 4u << 20;  // of one with 16 MiB

std::size_t daemon_count() {
  const char* const given = std::getenv("REMOTECL_TEST_DAEMONS");
  return given == nullptr ? kDaemons : std::strtoull(given, nullptr, 10);
}

std::size_t entries(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}
std::size_t threads() { return entries("/proc/self/task"); }
std::size_t descriptors() { return entries("/proc/self/fd"); }

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The daemons listen before the clock of connecting starts.
class ManyServers : public Environment {
 public:
  ManyServers() : Environment(static_cast<int>(daemon_count())) {}

  void SetUp() override {
    std::string addresses;
    for (std::size_t i = 0; i < daemon_count(); ++i) {
      running_.push_back(std::make_unique<Daemon>(
          std::vector<std::string>{"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "REMOTECL_FAKE_DRIVER=gpu=1,memory-mb=256"},
          std::vector<std::string>{"--no-store"}));
    }
    for (const auto& daemon : running_) addresses += (addresses.empty() ? "" : ",") + daemon->address();
    ::setenv("REMOTECL_TEST_SERVERS", addresses.c_str(), 1);
    descriptors_before_ = descriptors();
    const auto begin = Clock::now();
    Environment::SetUp();
    connect_s_ = seconds_since(begin);
  }
  void TearDown() override {
    Environment::TearDown();
    running_.clear();
  }

  double connect_s() const { return connect_s_; }
  std::size_t descriptors_before() const { return descriptors_before_; }

 private:
  std::vector<std::unique_ptr<Daemon>> running_;
  double connect_s_ = 0;
  std::size_t descriptors_before_ = 0;
};

ManyServers* g_servers = nullptr;

// How many large transfers each server has sent to others, over all its links.
std::vector<std::uint64_t> sends_of_servers() {
  const auto status = library_function<decltype(remotecl_status_json)>("remotecl_status_json");
  const auto free_text = library_function<decltype(remotecl_free)>("remotecl_free");
  char* const text = status();
  const json servers = json::parse(text);
  free_text(text);
  std::vector<std::uint64_t> sends;
  for (const json& server : servers) {
    std::uint64_t count = 0;
    for (const json& link : server.at("status").at("links")) {
      count += link.at("traffic").at("bulk").at("sent").at("messages").get<std::uint64_t>();
    }
    sends.push_back(count);
  }
  return sends;
}

class ManyServersTest : public ::testing::Test {
 protected:
  // A context with the first `count` devices, and a queue for each.
  void use(std::size_t count) {
    devices_.assign(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(count));
    context_ = make_context(devices_);
    for (cl_device_id device : devices_) queues_.push_back(make_queue(context_, device));
  }
  // 16 MiB that the first device writes, and that all others get. Returns how often each server has sent.
  std::vector<std::uint64_t> broadcast() {
    const Owned<cl_mem> buffer = make_buffer(context_, kLargeCount * sizeof(int));
    const Owned<cl_program> program(build(context_, "count_mv"));
    const Owned<cl_kernel> count = make_kernel(program, "count_mv");
    check(set_arg(count, 0, buffer));
    check(set_arg(count, 1, 7));
    check(run(queues_[0], count, kLargeCount));
    check(clFinish(queues_[0]));
    std::vector<std::uint64_t> before = sends_of_servers();
    const std::uint64_t through_client = statistic("bytes_sent");
    const auto begin = Clock::now();
    for (std::size_t i = 1; i < queues_.size(); ++i) {
      check(clEnqueueMigrateMemObjects(queues_[i], 1, buffer.pointer(), 0, 0, nullptr, nullptr));
    }
    for (const auto& queue : queues_) check(clFinish(queue));
    std::cout << queues_.size() - 1 << " servers got 16 MiB in " << seconds_since(begin) << " s\n";
    EXPECT_LT(statistic("bytes_sent") - through_client, kLargeCount);
    std::vector<std::uint64_t> sends = sends_of_servers();
    for (std::size_t i = 0; i < sends.size(); ++i) sends[i] -= before[i];
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      const std::size_t at = (i * 16'381) % (kLargeCount - kCount);
      std::vector<int> part(kCount), expected(kCount);
      check(clEnqueueReadBuffer(queues_[i], buffer, CL_TRUE, at * sizeof(int), kCount * sizeof(int), part.data(), 0,
                                nullptr, nullptr));
      std::iota(expected.begin(), expected.end(), static_cast<int>(at) + 7);
      EXPECT_EQ(part, expected) << "server " << i;
    }
    return sends;
  }

  const std::vector<cl_device_id>& all_ = Environment::get().devices();
  std::vector<cl_device_id> devices_;
  Owned<cl_context> context_;
  std::vector<Owned<cl_command_queue>> queues_;
};

TEST_F(ManyServersTest, AnIdleServerCostsTheClientFewDescriptorsAndNoThread) {
  ASSERT_EQ(all_.size(), daemon_count());
  const std::size_t used = descriptors() - g_servers->descriptors_before();
  std::cout << all_.size() << " servers connected in " << g_servers->connect_s() << " s; " << threads() << " threads, "
            << used << " descriptors\n";
  EXPECT_LE(threads(), kClientThreadsMax);
  EXPECT_LE(used, kDescriptorsOfAServerMax * all_.size() + 32);
}

TEST_F(ManyServersTest, NoServersAreLinkedBeforeTheyNeedIt) {
  use(all_.size());
  EXPECT_EQ(connected_links(), 0);
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kLargeCount, 1));
  check(clEnqueueMigrateMemObjects(queues_[0], 1, buffer.pointer(), 0, 0, nullptr, nullptr));
  check(clFinish(queues_[0]));
  EXPECT_EQ(connected_links(), 0);
  check(clEnqueueMigrateMemObjects(queues_[1], 1, buffer.pointer(), 0, 0, nullptr, nullptr));
  check(clFinish(queues_[1]));
  EXPECT_EQ(connected_links(), 1);
}

TEST_F(ManyServersTest, AChainOfKernelsGoesOverAllServers) {
  use(all_.size());
  const Owned<cl_program> program(build(context_, "add_mv"));
  const Owned<cl_kernel> add = make_kernel(program, "add_mv");
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 3));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  const auto begin = Clock::now();
  for (int round = 0; round < 2; ++round) {
    Owned<cl_event> last;
    for (const auto& queue : queues_) {
      Owned<cl_event> done;
      std::vector<cl_event> waits;
      if (last.get() != nullptr) waits.push_back(last);
      check(run(queue, add, kCount, waits, done.out()));
      last = std::move(done);
    }
  }
  EXPECT_EQ(read<int>(queues_.back(), buffer, kCount),
            std::vector<int>(kCount, 3 + 2 * static_cast<int>(queues_.size())));
  std::cout << "two chains over " << queues_.size() << " servers in " << seconds_since(begin) << " s\n";
  EXPECT_LE(threads(), kClientThreadsMax);
}

TEST_F(ManyServersTest, SixteenReceiversShareTheSending) {
  use(17);
  const std::vector<std::uint64_t> sends = broadcast();
  EXPECT_EQ(std::accumulate(sends.begin(), sends.end(), std::uint64_t{0}), 16u);
  EXPECT_LE(*std::max_element(sends.begin(), sends.end()), 4u);
}

TEST_F(ManyServersTest, AllServersGetLargeDataInATree) {
  use(all_.size());
  const std::vector<std::uint64_t> sends = broadcast();
  EXPECT_EQ(std::accumulate(sends.begin(), sends.end(), std::uint64_t{0}), all_.size() - 1);
  EXPECT_LE(*std::max_element(sends.begin(), sends.end()), 5u);
  EXPECT_LE(threads(), kClientThreadsMax);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("OCL_ICD_VENDORS", "/none", 1);  // only our own threads are to be counted
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  ::setenv("REMOTECL_LOG", "off", 1);
  ::testing::InitGoogleTest(&argc, argv);
  remotecl::testing::g_servers = new remotecl::testing::ManyServers;
  ::testing::AddGlobalTestEnvironment(remotecl::testing::g_servers);
  return RUN_ALL_TESTS();
}
