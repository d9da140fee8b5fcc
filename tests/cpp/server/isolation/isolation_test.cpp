// Sessions that have processes of their own, beneath a driver that crashes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "fakes/wire/wire_monitor.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSource = R"(
kernel void add(global int* data, int value) { data[get_global_id(0)] += value; }
kernel void aborts_the_driver(global int* data, int value) { data[get_global_id(0)] += value; }
kernel void makes_the_driver_fault(global int* data, int value) { data[get_global_id(0)] += value; }
)";

// A session with a program, a queue and a buffer of 16 ints that are 0.
struct Work {
  explicit Work(const Address& address) : client(address) {
    program = client.id();
    client.build(program, kSource);
    queue = client.make_queue();
    buffer = client.make_buffer(64);
    client.write<int>(queue, buffer, std::vector<int>(16, 0));
    client.finish(queue);
  }
  void run(const char* name) {
    const int value = 1;
    const KernelArgument arguments[] = {memory_argument(0, buffer), value_argument(1, value)};
    client.enqueue(queue, client.make_kernel(program, name), 16, arguments);
    client.flush();
  }
  std::vector<int> values() { return client.read<int>(queue, buffer, 16); }
  void crash() {
    run("aborts_the_driver");
    EXPECT_THROW(client.ping(), std::runtime_error);
  }

  WireClient client;
  ObjectId program = 0, queue = 0, buffer = 0;
};

// In the environment of those processes that are started while it lives.
class Changed {
 public:
  Changed(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), (before_.empty() ? value : before_ + ":" + value).c_str(), 1);
  }
  ~Changed() { before_.empty() ? ::unsetenv(name_.c_str()) : ::setenv(name_.c_str(), before_.c_str(), 1); }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;

 private:
  const std::string name_;
  std::string before_;
};

class IsolationTest : public ::testing::Test {
 protected:
  static LimitsTable limits() {
    LimitsTable limits;
    limits.standard.device_memory = 1 << 20;
    limits.standard.sessions = 3;
    return limits;
  }
  Address address() const { return server_.address(); }
  bool has(std::size_t sessions) {
    return ServerTest::eventually([&] { return server_.sessions() == sessions; });
  }
  // Of this process's children, that nobody has waited for.
  static bool has_zombie() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }
  double metric(const std::string& name) {
    const std::string text = server_.metrics();
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + name.size() + 2);
  }

  const Changed preload_{"LD_PRELOAD", REMOTECL_CRASHING_DRIVER};
  // A sanitizer takes a crash for something to report, and wants to be loaded first.
  const Changed address_sanitizer_{"ASAN_OPTIONS", "verify_asan_link_order=0:handle_segv=0"};
  const Changed thread_sanitizer_{"TSAN_OPTIONS", "handle_segv=0"};
  server::Server server_{Address{"127.0.0.1", 0}, "0", {}, {}, limits(), isolation()};
};

TEST_F(IsolationTest, ADriverThatAbortsTakesOneSessionWithIt) {
  Work crashes(address()), goes_on(address());
  goes_on.run("add");
  crashes.crash();
  goes_on.run("add");
  EXPECT_EQ(goes_on.values(), std::vector<int>(16, 2));
  Work begins(address());
  begins.run("add");
  EXPECT_EQ(begins.values(), std::vector<int>(16, 1));
  EXPECT_TRUE(has(2));
  EXPECT_FALSE(has_zombie());
  EXPECT_EQ(metric("remotecl_sessions_crashed_total"), 1);
  EXPECT_EQ(metric("remotecl_sessions"), 2);
  EXPECT_EQ(metric("remotecl_sessions_total"), 3);
}

TEST_F(IsolationTest, WhoComesBackAfterACrashIsToldWhy) {
  for (const auto& [kernel, signal] : {std::pair("aborts_the_driver", "signal 6 (Aborted)"),
                                       std::pair("makes_the_driver_fault", "signal 11 (Segmentation fault)")}) {
    Work crashes(address());
    const Welcome& welcome = crashes.client.welcome();
    crashes.run(kernel);
    EXPECT_THROW(crashes.client.ping(), std::runtime_error);
    EXPECT_TRUE(has(0));
    const auto connection = tcp::connect(address(), 5s);
    try {
      handshake_again(*connection, address(), Role::kControl, {welcome.session, welcome.epoch, welcome.secret}, 0);
      ADD_FAILURE() << "may go on";
    } catch (const StreamGone& gone) {
      EXPECT_NE(std::string(gone.what()).find(signal), std::string::npos) << gone.what();
      EXPECT_NE(std::string(gone.what()).find("the driver crashed"), std::string::npos) << gone.what();
    }
  }
}

TEST_F(IsolationTest, WhatACrashedSessionHadIsFreeAgain) {
  Work crashes(address()), wants(address());
  const auto take = [](Work& work) {
    const ObjectId buffer = work.client.make_buffer(900 << 10);
    const EventId event = work.client.id();
    work.client.write<int>(work.queue, buffer, std::vector<int>(4, 1), event);
    work.client.send(ObserveEvent{event});
    return work.client.event_status(event);
  };
  EXPECT_EQ(take(crashes), CL_COMPLETE);
  EXPECT_EQ(take(wants), CL_MEM_OBJECT_ALLOCATION_FAILURE) << "the user has no more than this, in whatever process";
  crashes.crash();
  EXPECT_TRUE(has(1));
  EXPECT_EQ(take(wants), CL_COMPLETE);
  Work second(address()), third(address());
  EXPECT_THROW(WireClient fourth(address()), std::runtime_error) << "three at a time";
}

TEST_F(IsolationTest, AMonitorSeesTheSessionsOfAllProcesses) {
  Work first(address()), second(address());
  first.client.send(Introduce{1, "here", "first program", 0, {}});
  second.client.send(Introduce{2, "there", "second program", 0, {}});
  first.run("add");
  first.values();
  second.values();
  WireMonitor monitor(address());
  const KnownStatus seen = monitor.ask();
  EXPECT_EQ(seen.status.session_count, 2u);
  EXPECT_GE(seen.status.commands, 5u);
  ASSERT_EQ(seen.sessions.size(), 2u);
  EXPECT_NE(seen.sessions[0].program, seen.sessions[1].program);
  EXPECT_EQ(seen.devices.at(0).memory_used, 128u);
  EXPECT_EQ(seen.status.process, static_cast<std::uint64_t>(::getpid()));
  Received<StatusWithRdma> kept;
  EXPECT_EQ(ask_status(second.client, kept).sessions.size(), 1u) << "it knows its own";
}

TEST_F(IsolationTest, WhatAUserHasHadIsAddedUpOverItsProcesses) {
  WireMonitor monitor(address());
  Work first(address());
  first.run("add");
  first.client.finish(first.queue);
  {
    Work second(address());
    second.run("add");
    second.client.finish(second.queue);
    const KnownStatus seen = monitor.ask();
    ASSERT_EQ(seen.users.size(), 1u);
    EXPECT_EQ(seen.users[0].user, "default");
    EXPECT_EQ(seen.users[0].commands, 2u);
  }
  EXPECT_TRUE(has(1));
  EXPECT_EQ(monitor.ask().users.at(0).commands, 2u);
}

TEST_F(IsolationTest, CountersStayWhenSessionsHaveEnded) {
  for (int i = 0; i < 2; ++i) {
    Work work(address());
    work.run("add");
    work.values();
    EXPECT_GE(metric("remotecl_commands_total"), 3);
  }
  EXPECT_TRUE(has(0));
  EXPECT_EQ(metric("remotecl_sessions_total"), 2);
  EXPECT_EQ(metric("remotecl_sessions_crashed_total"), 0);
  EXPECT_GE(metric("remotecl_commands_total"), 6);
}

TEST_F(IsolationTest, SessionsEndWithTheServer) {
  Work work(address());
  ASSERT_TRUE(server_.stop(10s));
  const auto last = work.client.wait<SessionError>();
  EXPECT_EQ(last->text, "the server is shutting down");
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1) << "a process is left";
}

TEST(IsolationExclusiveTest, WhatOthersSeeNobodyHasAlone) {
  LimitsTable limits;
  const AccessToken common("the token of most", "a test"), alone("the token of one", "a test");
  limits.users.push_back({"alone", alone, {}});
  limits.users.back().limits.exclusive = true;
  server::Server server(Address{"127.0.0.1", 0}, "0", common, {}, std::move(limits), isolation());
  const auto begin = [&](const AccessToken& token) {
    auto connection = tcp::connect(server.address(), 5s);
    handshake_with_server(*connection, server.address(), &token);
    return connection;
  };
  auto other = begin(common);
  EXPECT_THROW(begin(alone), ConnectionError);
  other.reset();
  EXPECT_TRUE(ServerTest::eventually([&] { return server.sessions() == 0; }));
  const auto exclusive = begin(alone);
  EXPECT_THROW(begin(common), ConnectionError) << "there is no device for others";
}

}  // namespace
}  // namespace remotecl::testing
