// What a daemon reports of itself, checked against work that is known.
#include <arpa/inet.h>
#include <ifaddrs.h>

#include "fakes/wire/wire_monitor.h"
#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

class StatusTest : public CommandTest {
 protected:
  KnownStatus own_status() { return ask_status(client_, kept_); }

  Received<StatusWithRdma> kept_;
};

TEST_F(StatusTest, MonitorNeedsNoSession) {
  WireMonitor monitor(address());
  ASSERT_TRUE(monitor.welcome());
  EXPECT_EQ(monitor.welcome()->status, WelcomeStatus::kAccepted);
  EXPECT_EQ(monitor.welcome()->epoch, client_.welcome().epoch);
  const KnownStatus seen = monitor.ask();
  EXPECT_EQ(seen.status.version, REMOTECL_VERSION);
  EXPECT_EQ(seen.status.process, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(seen.status.session_count, 1u) << "the client's, and none of the monitor";
  ASSERT_EQ(seen.devices.size(), 1u);
  EXPECT_EQ(seen.devices[0].name, server_.driver().device(0)->traits().name);
  EXPECT_GT(seen.devices[0].memory_total, 1u << 20);
  EXPECT_GE(monitor.ask().status.uptime_ms, seen.status.uptime_ms);
}

TEST_F(StatusTest, MonitorsSeeSessionsByLoopbackButNoneAsTheirOwn) {
  client_.send(Introduce{4711, "laptop", "python3", 0, {}});
  client_.ping();
  WireMonitor monitor(address());
  const KnownStatus seen = monitor.ask();
  ASSERT_EQ(seen.sessions.size(), 1u);
  EXPECT_EQ(seen.sessions[0].is_own, 0u);
  EXPECT_EQ(seen.sessions[0].process, 4711u);
  EXPECT_EQ(seen.sessions[0].host, "laptop");
  EXPECT_EQ(seen.sessions[0].program, "python3");
  EXPECT_TRUE(seen.sessions[0].address.starts_with("127.0.0.1:")) << seen.sessions[0].address;
  EXPECT_EQ(own_status().own.process, 4711u);
}

TEST_F(StatusTest, LongNamesAreCut) {
  client_.send(Introduce{1, std::string(10000, 'h'), "p", 0, {}});
  EXPECT_EQ(own_status().own.host.size(), kStatusTextMax);
}

TEST_F(StatusTest, MemoryOfThreeBuffers) {
  constexpr std::uint64_t kMiB = 1u << 20;
  const KnownStatus before = own_status();
  EXPECT_EQ(before.own.memory[0], 64u) << "the fixture's buffer";
  const ObjectId buffers[] = {client_.make_buffer(kMiB), client_.make_buffer(2 * kMiB), client_.make_buffer(4 * kMiB)};
  EXPECT_EQ(own_status().own.memory[0], 64u) << "nothing needed them yet";
  for (const ObjectId buffer : buffers) client_.write<int>(queue_, buffer, std::vector<int>(4, 1));
  client_.finish(queue_);
  KnownStatus seen = own_status();
  EXPECT_EQ(seen.own.memory[0], 64 + 7 * kMiB);
  EXPECT_EQ(seen.devices[0].memory_used, 64 + 7 * kMiB);

  WireClient other(address());
  const ObjectId queue = other.make_queue(), buffer = other.make_buffer(8 * kMiB);
  other.write<int>(queue, buffer, std::vector<int>(4, 1));
  other.finish(queue);
  seen = own_status();
  EXPECT_EQ(seen.own.memory[0], 64 + 7 * kMiB) << "that of another session is not ours";
  EXPECT_EQ(seen.devices[0].memory_used, 64 + 15 * kMiB);
  EXPECT_EQ(seen.sessions.size(), 2u);

  client_.add(ReleaseBuffer{buffers[1]});
  client_.finish(queue_);
  EXPECT_TRUE(eventually([&] { return own_status().own.memory[0] == 64 + 5 * kMiB; }));
}

TEST_F(StatusTest, CountsCommandsMessagesAndBytes) {
  constexpr int kCommands = 100;
  const KnownStatus before = own_status();
  for (int i = 0; i < kCommands; ++i) add(1);
  client_.finish(queue_);
  const KnownStatus after = own_status();
  EXPECT_EQ(after.own.commands - before.own.commands, std::uint64_t{kCommands});
  EXPECT_EQ(after.own.traffic.messages_received - before.own.traffic.messages_received, kCommands + 2u)
      << "the commands, Finish and GetStatus";
  EXPECT_EQ(after.own.traffic.messages_sent - before.own.traffic.messages_sent, 2u) << "the first Status and Finished";
  EXPECT_GT(after.own.traffic.bytes_received - before.own.traffic.bytes_received, kCommands * kMessageHeaderSize);
}

TEST_F(StatusTest, BytesOfALargeUploadAndItsDownload) {
  constexpr std::uint64_t kSize = 10u << 20, kChunks = 3;
  const ObjectId buffer = client_.make_buffer(kSize);
  const TransferId up = client_.id(), down = client_.id();
  client_.send(EnqueueWrite{queue_, client_.id(), buffer, 0, kSize, up, {}, {}});
  client_.wait<PullTransfer>();
  client_.send_bulk(up, std::vector<std::byte>(kSize));
  client_.send(EnqueueRead{queue_, client_.id(), buffer, 0, kSize, down, {}});
  client_.receive_bulk(down, kSize);
  client_.finish(queue_);
  ASSERT_TRUE(eventually([&] { return own_status().own.traffic.bulk_sent == 1; }));
  const Traffic traffic = own_status().own.traffic;
  EXPECT_EQ(traffic.bulk_received, 1u);
  EXPECT_EQ(traffic.bulk_bytes_received, kHelloSize + kSize + kChunks * kBulkHeaderSize);
  EXPECT_GE(traffic.bulk_bytes_sent, kSize + kBulkHeaderSize);
  EXPECT_LT(traffic.bytes_received + traffic.bytes_sent, 1u << 20) << "large data has a connection of its own";
}

TEST_F(StatusTest, QueueDepthWhileKernelsWaitForAUserEvent) {
  const KnownStatus before = own_status();
  EXPECT_EQ(before.devices[0].queue_depth, 0u);
  const EventId user = client_.id();
  client_.add(ExpectEvent{user});
  for (int i = 0; i < 5; ++i) add(1, 0, {{user}});
  EXPECT_EQ(own_status().devices[0].queue_depth, 5u);
  WireMonitor monitor(address());
  EXPECT_EQ(monitor.ask().devices[0].queue_depth, 5u);
  client_.add(SignalEvent{user, CL_COMPLETE});
  client_.finish(queue_);
  EXPECT_EQ(own_status().devices[0].queue_depth, 0u);
}

TEST_F(StatusTest, QueueDepthFallsWithoutAFinish) {
  WireMonitor monitor(address());
  add(1);
  client_.flush();
  client_.ping();
  EXPECT_TRUE(eventually([&] { return monitor.ask().devices[0].queue_depth == 0; }))
      << "the daemon finds out by itself, as long as somebody asks";
}

TEST_F(StatusTest, BusyWhileAKernelRuns) {
  WireMonitor monitor(address());
  EXPECT_EQ(monitor.ask().devices[0].observed_ms, 0u) << "nobody has asked before";
  EXPECT_TRUE(eventually([&] { return monitor.ask().devices[0].observed_ms > 100; }));
  EXPECT_LT(monitor.ask().devices[0].busy_permille, 100u);
  const ObjectId spin = client_.make_kernel(program_, "spin");
  const int rounds = 100'000'000;
  const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
  // As many as it takes until the device has been busy for most of a second. The daemon looks at the device only as
  // long as somebody asks, so the test asks also while a kernel runs, which can take many seconds on a loaded machine.
  EXPECT_TRUE(eventually([&] {
    const DeviceStatus device = monitor.ask().devices[0];
    if (device.queue_depth < 2) {
      client_.enqueue(queue_, spin, 1, arguments);
      client_.ping();  // the next answer counts it
    }
    return device.busy_permille > 800;
  }));
  EXPECT_TRUE(eventually([&] {
    const DeviceStatus device = monitor.ask().devices[0];
    return device.queue_depth == 0 && device.observed_ms > 0 && device.busy_permille < 200;
  })) << "it is idle again";
}

TEST_F(StatusTest, SessionsThatHaveEndedStayInTheTotals) {
  WireMonitor monitor(address());
  const std::uint64_t before = monitor.ask().status.commands;
  {
    WireClient other(address());
    const ObjectId queue = other.make_queue(), buffer = other.make_buffer(64);
    for (int i = 0; i < 3; ++i) other.write<int>(queue, buffer, std::vector<int>(16, i));
    other.finish(queue);
    EXPECT_EQ(monitor.ask().status.session_count, 2u);
  }
  ASSERT_TRUE(eventually([&] { return monitor.ask().status.session_count == 1; }));
  EXPECT_EQ(monitor.ask().status.commands - before, 3u);
}

TEST_F(StatusTest, WhatUsersHaveHadOfADevice) {
  WireMonitor monitor(address());
  const auto usage = [&monitor] {
    const KnownStatus seen = monitor.ask();
    return seen.users.empty() ? UserStatus{"", 0, 0, 0, 0}
                              : UserStatus{"", seen.users[0].device, seen.users[0].busy_us, seen.users[0].commands, 0};
  };
  EXPECT_EQ(usage().commands, 0u);
  for (int i = 0; i < 10; ++i) add(1);
  client_.finish(queue_);
  EXPECT_EQ(usage().commands, 10u);
  const ObjectId spin = client_.make_kernel(program_, "spin");
  const int rounds = 100'000'000;
  const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, rounds)};
  client_.enqueue(queue_, spin, 1, arguments);
  client_.flush();
  EXPECT_TRUE(eventually([&] { return usage().busy_us > 0; }));
  client_.finish(queue_);
  const UserStatus before = usage();
  {
    WireClient other(address());
    const ObjectId queue = other.make_queue(), buffer = other.make_buffer(64);
    const int zero = 0;
    for (int i = 0; i < 3; ++i) {
      other.add(EnqueueFill{queue, 0, buffer, 0, 64, std::as_bytes(std::span(&zero, 1)), {}});
    }
    other.finish(queue);
    EXPECT_EQ(usage().commands, 14u) << "of all sessions of the user";
  }
  ASSERT_TRUE(eventually([&] { return monitor.ask().status.session_count == 1; }));
  EXPECT_EQ(usage().commands, 14u) << "also of those that have ended";
  EXPECT_GE(usage().busy_us, before.busy_us);
  const std::string metrics = server_.metrics();
  EXPECT_NE(metrics.find("remotecl_user_commands_total{user=\"default\",device=\"0\"} 14\n"), std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find("remotecl_user_busy_seconds_total{user=\"default\",device=\"0\"} "), std::string::npos);
}

// An address of this machine that is not loopback; empty where there is none.
std::string outer_address() {
  ifaddrs* interfaces = nullptr;
  std::string found;
  if (::getifaddrs(&interfaces) != 0) return found;
  for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof text);
    if (!Address{text, 0}.is_loopback()) found = text;
  }
  ::freeifaddrs(interfaces);
  return found;
}

TEST(StatusFromElsewhereTest, SeesOnlySessionsOfItsOwnAddress) {
  const std::string host = outer_address();
  if (host.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  server::Server server(Address{"0.0.0.0", 0}, "0");
  WireClient by_loopback({"127.0.0.1", server.address().port}), from_elsewhere({host, server.address().port});
  const ObjectId queue = by_loopback.make_queue(), buffer = by_loopback.make_buffer(4096);
  by_loopback.write<int>(queue, buffer, std::vector<int>(16, 1));
  by_loopback.finish(queue);
  WireMonitor monitor({host, server.address().port});
  const KnownStatus seen = monitor.ask();  // what it says is in the monitor's memory
  EXPECT_EQ(seen.status.session_count, 2u);
  ASSERT_EQ(seen.sessions.size(), 1u);
  EXPECT_TRUE(seen.sessions[0].address.starts_with(host + ":")) << seen.sessions[0].address;
  EXPECT_EQ(seen.sessions[0].commands, 0u);
  EXPECT_EQ(seen.status.commands, 1u) << "of the other one, the totals";
  EXPECT_EQ(seen.devices[0].memory_used, 4096u);
  EXPECT_EQ(WireMonitor({"127.0.0.1", server.address().port}).ask().sessions.size(), 2u);
}

class MonitorErrorTest : public ServerTest {
 protected:
  // The server's last words to a monitor that says this.
  std::string last_words(std::uint32_t size, std::uint16_t code, Bytes payload) {
    WireMonitor monitor(address());
    const auto header = encode_frame<MessageHeader, kMessageHeaderSize>({size, code, 0});
    monitor.connection().write(header, payload);
    SessionError error{};
    EXPECT_EQ(monitor.receive(error), SessionError::kCode);
    std::string text(error.text);
    EXPECT_EQ(monitor.receive(error), 0) << "the connection is still there";
    return text;
  }
};

TEST_F(MonitorErrorTest, WhatIsNoQuestionEndsTheConnection) {
  EXPECT_NE(last_words(8, Code::kPing, std::vector<std::byte>(8)).find("only ask for status"), std::string::npos);
  EXPECT_NE(last_words(8, 999, std::vector<std::byte>(8)).find("999"), std::string::npos);
  EXPECT_NE(last_words(9, Code::kGetStatus, {}).find("malformed"), std::string::npos);
  EXPECT_NE(last_words(0xFFFFFFFF, Code::kGetStatus, {}).find("malformed"), std::string::npos);
  EXPECT_EQ(server_.sessions(), 0u);
  WireMonitor(address()).ask();
}

TEST_F(MonitorErrorTest, MalformedQuestionEndsASession) {
  WireClient client(address());
  const auto header = encode_frame<MessageHeader, kMessageHeaderSize>({3, Code::kGetStatus, 0});
  client.control().write(header, std::vector<std::byte>(3));
  expect_session_error(client, "GetStatus");
}

TEST_F(MonitorErrorTest, ThereIsABoundOnMonitors) {
  std::vector<std::unique_ptr<WireMonitor>> monitors;
  for (int i = 0; i < 64; ++i) {
    monitors.push_back(std::make_unique<WireMonitor>(address()));
    ASSERT_TRUE(monitors.back()->welcome());
    EXPECT_EQ(monitors.back()->welcome()->status, WelcomeStatus::kAccepted);
  }
  WireMonitor refused(address());
  ASSERT_TRUE(refused.welcome());
  EXPECT_EQ(refused.welcome()->status, WelcomeStatus::kBusy);
  WireClient client(address());
  client.ping();
  monitors.pop_back();
  EXPECT_TRUE(eventually([&] { return WireMonitor(address()).welcome()->status == WelcomeStatus::kAccepted; }));
}

TEST_F(MonitorErrorTest, StoppingDoesNotWaitForMonitors) {
  WireMonitor monitor(address());
  monitor.ask();
  EXPECT_TRUE(server_.stop(std::chrono::seconds(5)));
  Status status{};
  EXPECT_EQ(monitor.receive(status), 0);
}

class LinkStatusTest : public PeerTest {};

TEST_F(LinkStatusTest, WhatTwoServersSendEachOther) {
  constexpr std::uint64_t kSize = 10u << 20;
  link();
  const ObjectId from = filled(a_, a_queue_, kSize, 3), to = b_.make_buffer(kSize);
  const EventId received = receive(to, kSize, 1);
  send(from, kSize, 1);
  EXPECT_EQ(b_.event_status(received), CL_COMPLETE);
  Received<StatusWithRdma> of_a, of_b;
  ASSERT_TRUE(eventually([&] { return ask_status(a_, of_a).links.at(0).traffic.bulk_sent == 1; }));
  const KnownStatus a = ask_status(a_, of_a), b = ask_status(b_, of_b);
  ASSERT_EQ(a.links.size(), 1u);
  ASSERT_EQ(b.links.size(), 1u);
  EXPECT_EQ(a.links[0].is_own, 1u);
  EXPECT_EQ(a.links[0].peer, kSecond);
  EXPECT_EQ(b.links[0].peer, kFirst);
  EXPECT_EQ(a.links[0].is_connected, 1u);
  EXPECT_EQ(a.links[0].address, second_.address().text()) << "the side that connects knows where the other listens";
  EXPECT_GE(a.links[0].traffic.bulk_bytes_sent, kSize);
  EXPECT_GE(b.links[0].traffic.bulk_bytes_received, kSize);
  EXPECT_EQ(b.links[0].traffic.bulk_received, 1u);
  EXPECT_EQ(b.links[0].traffic.bulk_sent, 0u);
  EXPECT_GE(a.links[0].traffic.messages_received, 1u) << "PullTransfer";
  WireMonitor monitor(second_.address());
  const KnownStatus seen = monitor.ask();
  EXPECT_EQ(seen.links.at(0).peer, 0u) << "the client's numbers mean nothing to others";
  EXPECT_GE(seen.status.peers.bulk_bytes_received, kSize);
}

}  // namespace
}  // namespace remotecl::testing
