#include "server/fixture.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace remotecl::testing {

std::optional<server::ProcessCommand> isolation() {
  return server::ProcessCommand{REMOTECL_SERVER_PROGRAM,
                                {"remotecl-server", "--session-process", "--devices", "0", "--log-level", "off"}};
}

ServerTest::ServerTest(const LimitsTable& limits, Store* store, const server::Server::Provide& provide)
    : limits_(limits),
      server_{Address{"127.0.0.1", 0},
              "0",
              {},
              {},
              limits_,
              std::getenv("REMOTECL_TEST_ISOLATE") != nullptr ? isolation() : std::nullopt,
              {},
              store,
              nullptr,
              provide} {}

ServerTest::~ServerTest() = default;

bool ServerTest::eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::size_t ServerTest::resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    std::size_t size = 0;
    status >> size;
    return size;
  }
  return 0;
}

void ServerTest::expect_session_error(WireClient& client, const std::string& words) {
  const auto error = client.wait<SessionError>();
  EXPECT_NE(std::string(error->text).find(words), std::string::npos) << error->text;
  EXPECT_THROW(client.ping(), std::runtime_error);
}

CommandTest::CommandTest() {
  program_ = client_.id();
  const auto done = client_.build(program_, kAddSource);
  done->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, 0) << build.log; });
  add_ = client_.make_kernel(program_, "add");
  queue_ = client_.make_queue();
  buffer_ = client_.make_buffer(64);
  client_.write<int>(queue_, buffer_, std::vector<int>(16, 0));
  client_.finish(queue_);
}

CommandTest::~CommandTest() = default;

void CommandTest::add(int value, EventId event, std::span<const EventId> waits, ObjectId queue) {
  const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, value)};
  client_.enqueue(queue != 0 ? queue : queue_, add_, 16, arguments, event, waits);
}

std::int32_t CommandTest::failure_of(EventId event) {
  return client_.wait<CommandFailed>([event](const CommandFailed& failed) { return failed.event == event; })->status;
}

}  // namespace remotecl::testing
