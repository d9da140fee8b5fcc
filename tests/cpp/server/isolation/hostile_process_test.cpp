// What the daemon does for the process of a session that sends what it should not.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "server/fixture.h"
#include "server/isolation/fake_process.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using namespace server;

constexpr std::uint64_t kSession = 77;
constexpr std::size_t kDevices = 2;

class HostileProcessTest : public ::testing::Test {
 protected:
  HostileProcessTest() {
    session_.emplace(
        std::move(process_.child), std::make_unique<SessionShare>(user_, SessionShare::Bounds{}),
        Address{"192.0.2.7", 5}, *make_ref<User>("bob", Limits{}, kDevices),
        SessionLoad{kSession, {kDevices, SessionLoad::OnDevice{0, 2}}}, [](bool) {}, [] {}, nullptr, nullptr, nullptr);
  }
  ~HostileProcessTest() override {
    session_->kill();
    if (daemon_.joinable()) daemon_.join();
  }

  bool begin() {
    const bool is_begun = testing::begin(*session_, {"192.0.2.7", 5});
    daemon_ = std::thread([this] { session_->run(); });
    return is_begun;
  }
  // Why the session has ended, after it has.
  std::string reason() {
    daemon_.join();
    return session_->why_ended();
  }
  void send_report(PacketType type, std::uint64_t number, const StatusReport& report, std::string_view why = {}) {
    const auto bytes = encode(report);
    EXPECT_TRUE(process_.channel.send(type, ReportMessage{number, bytes, why}));
  }
  StatusReport report_of(const StatusReport& claimed) {
    session_->ask(1, 1s);
    send_report(PacketType::kReport, 1, claimed);
    return session_->report(1, std::chrono::steady_clock::now() + 5s);
  }

  Ref<UserShares> user_ = make_ref<UserShares>(kDevices);
  FakeProcess process_;
  std::optional<IsolatedSession> session_;
  std::thread daemon_;
};

TEST_F(HostileProcessTest, NothingMayComeBeforeTheSession) {
  EXPECT_TRUE(process_.channel.send(PacketType::kFind, StoreMessage{1, {}}));
  EXPECT_FALSE(begin());
  EXPECT_NE(reason().find("sent kFind before it had a session"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, WhatNoProcessMaySendEndsIt) {
  ASSERT_TRUE(begin());
  EXPECT_TRUE(process_.channel.send(PacketType::kKick, KickMessage{1, ""}));
  EXPECT_NE(reason().find("type 10, which no process may send"), std::string::npos) << session_->why_ended();
  EXPECT_FALSE(session_->ended_in_order());
}

TEST_F(HostileProcessTest, ASessionIsBegunOnce) {
  ASSERT_TRUE(begin());
  EXPECT_TRUE(process_.channel.send(PacketType::kReady, ReadyMessage{"a failure"}));
  EXPECT_NE(reason().find("sent kReady while it had a session"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, DescriptorsComeOnlyWithWhatNeedsThem) {
  ASSERT_TRUE(begin());
  EXPECT_TRUE(process_.channel.send(PacketType::kKeep, StoreMessage{1, {}}, {0, 0}));
  EXPECT_NE(reason().find("kKeep with 2 descriptors instead of 1"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, PacketsAreNotTooLong) {
  ASSERT_TRUE(begin());
  const int room = 1 << 20;
  ::setsockopt(process_.channel.descriptor(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  EXPECT_TRUE(process_.channel.send(PacketType::kReady, ReadyMessage{std::string(140'000, 'x')}));
  EXPECT_NE(reason().find("too short or too long"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, FieldsAreAsTheTypeDemands) {
  ASSERT_TRUE(begin());
  EXPECT_TRUE(process_.channel.send(PacketType::kClaim, ClaimMessage{1, 1'000'000, 0}));
  EXPECT_NE(reason().find("kClaim with other fields"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, ReportsThatNobodyAskedForEndIt) {
  ASSERT_TRUE(begin());
  StatusReport report;
  report.devices.resize(kDevices);
  report_of(report);
  send_report(PacketType::kReport, 1, report);
  EXPECT_NE(reason().find("kReport"), std::string::npos) << session_->why_ended();
}

TEST_F(HostileProcessTest, AfterItsEndASessionOnlySaves) {
  ASSERT_TRUE(begin());
  StatusReport report;
  report.devices.resize(kDevices);
  send_report(PacketType::kEnded, 0, report, "\x1b[2J" + std::string(100'000, 'x'));
  EXPECT_TRUE(process_.channel.send(PacketType::kOpenSocket, SocketMessage{1, "tcp:127.0.0.1:1", -1}));
  const std::string why = reason();
  EXPECT_TRUE(session_->ended_in_order());
  EXPECT_LT(why.size(), 2 * kClaimedTextMax);
  EXPECT_EQ(why.find('\x1b'), std::string::npos);
}

TEST_F(HostileProcessTest, AReportSpeaksOfNoOtherSessionAndNoOtherUser) {
  ASSERT_TRUE(begin());
  StatusReport claimed;
  claimed.totals.begun = claimed.totals.sessions = UINT64_MAX;
  claimed.totals.commands = claimed.totals.clients.bytes_sent = UINT64_MAX;
  claimed.devices.resize(kDevices, {UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX});
  for (const std::uint64_t number : {kSession + 1, kSession, kSession}) {
    StatusReport::OfSession session;
    session.session = number;
    session.user = "alice";
    session.address = "198.51.100.1:80";
    session.program = std::string(3'000, 'p');
    session.memory = {UINT64_MAX, 1, 1, 1, 1};
    session.weight = 1e15;
    claimed.sessions.push_back(session);
  }
  for (int i = 0; i < 300; ++i) claimed.links.push_back({true, 1, "somewhere", true, {}, {}});
  for (int i = 0; i < 100; ++i) claimed.users.push_back({"u" + std::to_string(i), 1, UINT64_MAX, 1, 1, {}});
  const StatusReport report = report_of(claimed);
  ASSERT_EQ(report.sessions.size(), 1u);
  EXPECT_EQ(report.sessions[0].session, kSession);
  EXPECT_EQ(report.sessions[0].user, "bob");
  EXPECT_EQ(report.sessions[0].address, "192.0.2.7:5");
  EXPECT_EQ(report.sessions[0].program.size(), kStatusTextMax);
  EXPECT_EQ(report.sessions[0].memory, (std::vector<std::uint64_t>{kClaimMax, 1}));
  EXPECT_EQ(report.sessions[0].weight, 2);
  EXPECT_EQ(report.links.size(), kClaimedLinksMax);
  ASSERT_EQ(report.users.size(), 1u);
  EXPECT_EQ(report.users[0].user, "bob");
  EXPECT_EQ(report.totals.begun, 1u);
  EXPECT_EQ(report.totals.commands, kClaimMax);
  StatusReport sum;
  for (int i = 0; i < 5000; ++i) sum.add(report);
  EXPECT_EQ(sum.totals.clients.bytes_sent, UINT64_MAX) << "sums do not wrap";
}

}  // namespace
}  // namespace remotecl::testing
