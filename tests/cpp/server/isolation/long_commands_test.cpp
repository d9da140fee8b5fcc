// Commands that take long. The driver is a fake one, whose kernels take as long as they are told to on any processor.
#include <cstdlib>
#include <thread>

#include "fakes/wire/wire_monitor.h"
#include "server/isolation/ends.h"
#include "server/util/log.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class LongWork {
 public:
  explicit LongWork(const Address& address) : client_(address), program_(client_.id()) {
    client_.build(program_, "kernel void k_m(global int* data) {}");
    kernel_ = client_.make_kernel(program_, "k_m");
    queue_ = client_.make_queue();
    buffer_ = client_.make_buffer(64);
  }
  void run_for(std::chrono::milliseconds time) {
    const KernelArgument arguments[] = {memory_argument(0, buffer_)};
    client_.enqueue(queue_, kernel_, static_cast<std::uint64_t>(time.count()), arguments);
    client_.flush();
  }
  void finish() { client_.finish(queue_); }
  WireClient& client() { return client_; }

 private:
  WireClient client_;
  ObjectId program_, kernel_ = 0, queue_ = 0, buffer_ = 0;
};

LimitsTable limits_of(std::uint64_t command_seconds) {
  LimitsTable limits;
  limits.standard.command_seconds = command_seconds;
  return limits;
}

TEST(LongCommandsTest, WhatGoesOnIsReportedToWhoAsks) {
  server::Server server(Address{"127.0.0.1", 0}, "0");
  WireMonitor monitor(server.address());
  {
    LongWork work(server.address());
    work.run_for(3s);
    work.client().ping();
    const KnownStatus seen = monitor.ask();
    ASSERT_EQ(seen.sessions.size(), 1u);
    EXPECT_EQ(seen.sessions[0].over_ms, 0u);
    EXPECT_EQ(seen.sessions[0].session, work.client().welcome().session);
    EXPECT_EQ(seen.sessions[0].user, "default");
  }
  EXPECT_TRUE(ServerTest::eventually([&] {
    const KnownStatus seen = monitor.ask();
    return seen.sessions.size() == 1 && seen.sessions[0].over_ms > 0;
  }));
  EXPECT_TRUE(is_empty(server));
}

TEST(LongCommandsTest, ASessionInTheMidstOfAKernelIsEndedOnceItIsOver) {
  server::Server server(Address{"127.0.0.1", 0}, "0");
  LongWork work(server.address());
  work.run_for(6s);  // longer than the server waits before it answers
  work.client().ping();
  EXPECT_EQ(WireMonitor(server.address()).kick(work.client().welcome().session).result, KickResult::kEnding);
  EXPECT_NE(work.client().wait<SessionError>()->text.find("remotecl kick"), std::string::npos);
  EXPECT_TRUE(is_empty(server));
}

TEST(LongCommandsTest, WhoRunsOneForTooLongIsToldAndEnds) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of(1));
  LongWork work(server.address());
  work.run_for(4s);
  const auto error = work.client().wait<SessionError>();
  EXPECT_NE(error->text.find("more than 1 s"), std::string::npos) << error->text;
  EXPECT_NE(error->text.find("command-seconds"), std::string::npos) << error->text;
  EXPECT_TRUE(is_empty(server));
}

class ManyCommandsTest : public ::testing::TestWithParam<bool> {
 protected:
  static std::optional<server::ProcessCommand> process() {
    if (!GetParam()) return std::nullopt;
    std::optional<server::ProcessCommand> command = isolation();
    command->arguments.insert(command->arguments.end(), {"--session-path", REMOTECL_FAKE_DRIVER});
    return command;
  }
};

TEST_P(ManyCommandsTest, MayTakeLongTogether) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of(1), process());
  LongWork work(server.address());
  for (int i = 0; i < 25; ++i) work.run_for(100ms);
  work.finish();
  work.client().ping();
}

TEST_P(ManyCommandsTest, WhoWasAwayAtTheEndIsToldWhy) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of(1), process());
  LongWork work(server.address());
  work.run_for(4s);
  EXPECT_TRUE(is_empty(server));
  const Welcome& welcome = work.client().welcome();
  const auto connection = tcp::connect(server.address(), 5s);
  try {
    handshake_again(*connection, server.address(), Role::kControl, {welcome.session, welcome.epoch, welcome.secret}, 0);
    ADD_FAILURE() << "may go on";
  } catch (const StreamGone& gone) {
    EXPECT_NE(std::string(gone.what()).find("command-seconds"), std::string::npos) << gone.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, ManyCommandsTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Isolated" : "InOneProcess"; });

// Whose command waits behind another session's has done nothing wrong.
TEST(LongCommandsTest, OnlyWhoRunsOneForTooLongEnds) {
  LimitsTable limits = limits_of(1);
  limits.session.command_seconds = 1;
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, std::move(limits));
  LongWork hog(server.address()), waits(server.address());
  hog.run_for(3s);
  hog.client().ping();
  waits.run_for(1ms);
  EXPECT_NE(hog.client().wait<SessionError>()->text.find("command-seconds"), std::string::npos);
  waits.finish();
  waits.client().ping();
}

// Both of these would be over the limit if the time were counted in which one waits for the other.
TEST(LongCommandsTest, WhoHasWaitedForAnotherHasTheWholeTime) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, limits_of(2));
  LongWork first(server.address()), second(server.address());
  first.run_for(1200ms);
  first.client().ping();
  std::this_thread::sleep_for(50ms);  // the driver begins it on a thread; otherwise the second one's may be faster
  second.run_for(1200ms);
  first.finish();
  second.finish();
  second.client().ping();
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  remotecl::server::set_log_level(remotecl::server::LogLevel::kOff);
  ::setenv("OCL_ICD_VENDORS", REMOTECL_FAKE_DRIVER, 1);
  ::setenv("REMOTECL_FAKE_DRIVER", "gpu=1,one-kernel-at-a-time,item-ns=1000000",
           1);  // as many milliseconds as work-items
  return RUN_ALL_TESTS();
}
