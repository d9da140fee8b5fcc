#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "fakes/wire/wire_client.h"
#include "server/daemon/server.h"

namespace remotecl::testing {

using server::LimitsTable;

// How a server starts processes for its sessions.
std::optional<server::ProcessCommand> isolation();

// A daemon in this process, on a port of its own, over the machine's OpenCL driver.
class ServerTest : public ::testing::Test {
 public:
  // Polls, for what has no event to wait for.
  static bool eventually(const std::function<bool()>& condition);
  // The session ends with last words that contain `words`.
  static void expect_session_error(WireClient& client, const std::string& words);

 protected:
  explicit ServerTest(const LimitsTable& limits = {}, Store* store = nullptr,
                      const server::Server::Provide& provide = nullptr);
  ~ServerTest() override;

  Address address() const { return server_.address(); }
  std::unique_ptr<Connection> connect() { return tcp::connect(address(), std::chrono::seconds(5)); }

  static std::size_t resident_kib();

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
  CommandTest();
  ~CommandTest() override;
  void add(int value, EventId event = 0, std::span<const EventId> waits = {}, ObjectId queue = 0);
  std::int32_t failure_of(EventId event);

  WireClient client_{address()};
  ObjectId program_ = 0, add_ = 0, queue_ = 0, buffer_ = 0;
};

}  // namespace remotecl::testing
