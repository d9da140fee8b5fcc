#include "runtime/handshake/bulk_offload.h"

#include <gtest/gtest.h>

#include <future>

#include "fakes/fake_offload.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/transport/tcp/loopback.h"

namespace remotecl {
namespace {

using testing::FakeOffload;

std::shared_ptr<Connection> keep(std::unique_ptr<Connection> first) { return first; }

BulkEnd end_of(BulkEnd::Side side, std::uint64_t features, BulkOffloadAcceptor* acceptor = nullptr) {
  return {side, features, std::chrono::seconds(5), keep, {}, acceptor};
}

// Of both sides, the connecting one first.
std::pair<StreamCarrier, StreamCarrier> upgrade(std::uint64_t features, BulkOffloadAcceptor& acceptor) {
  auto [near, far] = loopback::make_pair();
  auto accepted = std::async(std::launch::async, [&, far = std::move(far)]() mutable {
    return upgrade_bulk(std::move(far), {"client", 1}, end_of(BulkEnd::Side::kAccepts, features, &acceptor));
  });
  StreamCarrier connected = upgrade_bulk(std::move(near), {"server", 1}, end_of(BulkEnd::Side::kConnects, features));
  return {std::move(connected), accepted.get()};
}

// Before the test that has one.
TEST(BulkOffloadTest, WithoutAnExtraThereIsNoWish) {
  ASSERT_EQ(bulk_offload(), nullptr);
  EXPECT_EQ(rdma_wish().kind, RdmaState::Kind::kOff);
  EXPECT_EQ(rdma_wish().reason, rdma_reason::kNotBuilt);
}

TEST(BulkOffloadTest, GoesBesideTheStreamWhereBothSidesWantIt) {
  static FakeOffload& fake = *new FakeOffload;
  use_bulk_offload(fake);
  EXPECT_TRUE(rdma_wish().is_wanted());
  const auto acceptor = fake.accept_at("host");

  auto [connected, accepted] = upgrade(kFeatureRdma, *acceptor);
  EXPECT_EQ(fake.ticket, FakeOffload::kTicket);
  for (StreamCarrier* carrier : {&connected, &accepted}) {
    ASSERT_NE(carrier->offloaded, nullptr);
    const BulkLine line = open_bulk(std::move(*carrier), {std::chrono::seconds(0), {}});
    const auto* const transport = dynamic_cast<FakeOffload::Transport*>(line.transport.get());
    ASSERT_NE(transport, nullptr);
    EXPECT_NE(transport->stream, nullptr);
  }

  fake.ticket = 0;
  auto [plain, other] = upgrade(0, *acceptor);
  EXPECT_EQ(plain.offloaded, nullptr);
  EXPECT_EQ(other.offloaded, nullptr);
  EXPECT_EQ(fake.ticket, 0);
}

}  // namespace
}  // namespace remotecl
