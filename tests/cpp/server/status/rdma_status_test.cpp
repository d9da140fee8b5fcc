// What a daemon says of RDMA, with sessions that only claim to have it.
#include "fakes/wire/wire_monitor.h"
#include "server/admission/rejection_counts.h"
#include "server/admission/users.h"
#include "server/daemon/metrics.h"
#include "server/fixture.h"
#include "server/status/status_collector.h"

namespace remotecl::testing {
namespace {

using server::StatusCollector;
using server::StatusReport;
using Kind = RdmaState::Kind;

class RdmaSession final : public server::StatusSource {
 public:
  RdmaSession(RdmaState own, RdmaState link) : own_(std::move(own)), link_(std::move(link)) {}

  const Address& address() const override { return address_; }
  StatusReport::OfSession status() const override {
    StatusReport::OfSession status;
    status.session = 7;
    status.rdma = own_;
    return status;
  }
  std::vector<StatusReport::OfLink> links() override { return {{false, 2, "10.0.0.9", true, {}, link_}}; }
  void find_ends() override {}

 private:
  const Address address_{"127.0.0.1", 1};
  const RdmaState own_, link_;
};

const RdmaState kUsed{Kind::kInUse, "", "mlx5_0:1", "10.0.0.1", "10.0.0.2", 2, 1, 1000, 2000, 300, 4};
const RdmaState kLost{Kind::kLost, "the port is down", "mlx5_0:2", "10.0.1.1", "10.0.1.2", 0, 3, 50, 60, 5, 6};

class RdmaStatusTest : public ServerTest {
 protected:
  StatusReport report() { return board_.report(nullptr, server::Viewer::of_all(), std::chrono::seconds(1)); }

  StatusCollector board_{server_.driver()};
  const Ref<RdmaSession> session_ = make_ref<RdmaSession>(kUsed, kLost);
};

TEST_F(RdmaStatusTest, TotalsKeepWhatEndedSessionsHaveMoved) {
  board_.add(session_);
  StatusReport::Totals totals = report().totals;
  EXPECT_EQ(totals.rdma_clients.channels, 2u);
  EXPECT_EQ(totals.rdma_clients.bytes_sent, 1000u);
  EXPECT_EQ(totals.rdma_peers.losses, 3u);
  board_.remove(*session_);
  totals = report().totals;
  EXPECT_EQ(totals.rdma_clients.channels, 0u);
  EXPECT_EQ(totals.rdma_clients.losses, 1u);
  EXPECT_EQ(totals.rdma_clients.bytes_received, 2000u);
  EXPECT_EQ(totals.rdma_peers.bytes_received, 60u);
  EXPECT_EQ(totals.rdma_costs.clients.bytes_copied, 300u);
  EXPECT_EQ(totals.rdma_costs.peers.system_calls, 6u);
}

TEST_F(RdmaStatusTest, TravelsBetweenProcesses) {
  board_.add(session_);
  StatusReport same;
  ASSERT_TRUE(decode(encode(report()), server_.driver().devices().size(), same));
  ASSERT_EQ(same.sessions.size(), 1u);
  EXPECT_EQ(same.sessions[0].rdma.kind, Kind::kInUse);
  EXPECT_EQ(same.sessions[0].rdma.port, "mlx5_0:1");
  EXPECT_EQ(same.sessions[0].rdma.bytes_received, 2000u);
  ASSERT_EQ(same.links.size(), 1u);
  EXPECT_EQ(same.links[0].rdma.reason, "the port is down");
  EXPECT_EQ(same.links[0].rdma.losses, 3u);
  EXPECT_EQ(same.past().totals.rdma_clients.channels, 0u);
  EXPECT_EQ(same.past().totals.rdma_clients.losses, 1u);
}

TEST_F(RdmaStatusTest, FollowsTheStatusInItsMessage) {
  board_.add(session_);
  const std::vector<std::byte> bytes = encode_status(5, board_.daemon(), server_.driver(), report());
  const Bytes payload = Bytes(bytes).subspan(kMessageHeaderSize);
  Status alone{};
  Decoder decoder(payload);
  EXPECT_TRUE(decoder.read(alone)) << "as a client reads it that does not know the rest";
  EXPECT_FALSE(decoder.at_end());
  StatusWithRdma whole;
  ASSERT_TRUE(Decoder(payload).read(whole));
  const KnownStatus seen(whole);
  EXPECT_EQ(seen.rdma.clients.bytes_sent, 1000u);
  EXPECT_EQ(whole.rdma_costs.clients.system_calls, 4u);
  EXPECT_EQ(whole.rdma_costs.peers.bytes_copied, 5u);
  ASSERT_EQ(seen.rdma_sessions.size(), 1u);
  EXPECT_EQ(seen.rdma_sessions[0].peer_address, "10.0.0.2");
  ASSERT_EQ(seen.rdma_links.size(), 1u);
  EXPECT_EQ(seen.rdma_links[0].state, 4u);
}

TEST_F(RdmaStatusTest, ASessionThatAsksForNoneHasNone) {
  WireClient client(address());
  client.ping();
  WireMonitor monitor(address());
  const KnownStatus seen = monitor.ask();
  ASSERT_EQ(seen.rdma_sessions.size(), 1u);
  EXPECT_EQ(seen.rdma_sessions[0].state, 0u);
  EXPECT_EQ(seen.rdma.clients.channels, 0u);
}

TEST_F(RdmaStatusTest, MetricsHaveChannelsLossesBytesAndTheirCost) {
  board_.add(session_);
  const server::Users users({}, {}, server_.driver());
  const server::RejectionCounts refusals;
  const std::string text = metrics(report(), 0, board_.daemon(), server_.driver(), users, refusals, nullptr);
  for (const char* line :
       {"remotecl_rdma_channels{with=\"client\"} 2\n", "remotecl_rdma_channels{with=\"peer\"} 0\n",
        "# TYPE remotecl_rdma_losses_total counter\n", "remotecl_rdma_losses_total{with=\"peer\"} 3\n",
        "remotecl_rdma_sent_bytes_total{with=\"client\"} 1000\n",
        "remotecl_rdma_received_bytes_total{with=\"peer\"} 60\n",
        "remotecl_rdma_copied_bytes_total{with=\"client\"} 300\n",
        "remotecl_rdma_system_calls_total{with=\"peer\"} 6\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace remotecl::testing
