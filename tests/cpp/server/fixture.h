#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "fakes/wire/wire_client.h"
#include "server/daemon/server.h"

namespace remotecl::testing {

using server::LimitsTable;

// How a server starts processes for its sessions.
inline std::optional<server::ProcessCommand> isolation() {
  return server::ProcessCommand{REMOTECL_SERVER_PROGRAM,
                                {"remotecl-server", "--session-process", "--devices", "0", "--log-level", "off"}};
}

// A daemon in this process, on a port of its own, over the machine's OpenCL driver.
class ServerTest : public ::testing::Test {
 protected:
  explicit ServerTest(LimitsTable limits = {}, Store* store = nullptr)
      : limits_(std::move(limits)),
        server_{Address{"127.0.0.1", 0},
                "0",
                {},
                {},
                limits_,
                std::getenv("REMOTECL_TEST_ISOLATE") != nullptr ? isolation() : std::nullopt,
                {},
                store} {}

  Address address() const { return server_.address(); }
  std::unique_ptr<Connection> connect() { return tcp::connect(address(), std::chrono::seconds(5)); }

  // Polls, for what has no event to wait for.
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  static std::size_t resident_kib() {
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
  // The session ends with last words that contain `words`.
  static void expect_session_error(WireClient& client, const std::string& words) {
    const auto error = client.wait<SessionError>();
    EXPECT_NE(std::string(error->text).find(words), std::string::npos) << error->text;
    EXPECT_THROW(client.ping(), std::runtime_error);
  }

  LimitsTable limits_;
  // With REMOTECL_TEST_ISOLATE in the environment sessions have processes of their own.
  server::Server server_;
};

inline constexpr const char* kAddSource = R"(
kernel void add(global int* data, int value) { data[get_global_id(0)] += value; }
kernel void copy(global const int* from, global int* to) { to[get_global_id(0)] = from[get_global_id(0)]; }
// Long enough to be in flight while a test looks.
kernel void spin(global int* data, int rounds) {
  int x = data[0];
  for (int i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
  data[0] = x;
}
)";

// The fixture with a program, a queue and a buffer of 16 ints that are 0.
class CommandTest : public ServerTest {
 protected:
  CommandTest() {
    program_ = client_.id();
    const auto done = client_.build(program_, kAddSource);
    done->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, 0) << build.log; });
    add_ = client_.make_kernel(program_, "add");
    queue_ = client_.make_queue();
    buffer_ = client_.make_buffer(64);
    client_.write<int>(queue_, buffer_, std::vector<int>(16, 0));
    client_.finish(queue_);
  }
  void add(int value, EventId event = 0, std::span<const EventId> waits = {}, ObjectId queue = 0) {
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, value)};
    client_.enqueue(queue != 0 ? queue : queue_, add_, 16, arguments, event, waits);
  }
  std::int32_t failure_of(EventId event) {
    return client_.wait<CommandFailed>([event](const CommandFailed& failed) { return failed.event == event; })->status;
  }

  WireClient client_{address()};
  ObjectId program_ = 0, add_ = 0, queue_ = 0, buffer_ = 0;
};

}  // namespace remotecl::testing
