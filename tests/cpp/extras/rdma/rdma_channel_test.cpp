#include <gmock/gmock.h>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RdmaChannelTest : public RdmaTest {};

TEST_F(RdmaChannelTest, PortsHaveTheAddressesThatServe) {
  const std::vector<RdmaPort> ports = active_rdma_ports();
  EXPECT_THAT(ports.at(0).addresses, ::testing::UnorderedElementsAre(kV4, kV6)) << "of the interface, and no other";
  EXPECT_FALSE(ports.at(0).is_infiniband);
}

TEST_F(RdmaChannelTest, ConnectsOverBothVersionsOfIpAndCarriesHellos) {
  for (const char* const host : {kV4, kV6}) {
    RdmaListener listener({host, 0});
    DialedRdma dialed;
    std::thread dialer([&] { dialed = dial_rdma(listener.address(), as_bytes("who I am"), kDialTime); });
    const std::unique_ptr<RdmaRequest> request = listener.next();
    EXPECT_EQ(as_text(request->hello()), "who I am");
    EXPECT_EQ(request->peer().host, host);
    const auto far = request->accept(as_bytes("welcome"));
    dialer.join();
    EXPECT_EQ(as_text(dialed.reply), "welcome");
    const std::vector<std::byte> sent = pattern(8, 1);
    std::vector<std::byte> got(sent.size());
    std::thread sender([&] { EXPECT_TRUE(dialed.channel->send(1, {sent}, RdmaChannel::Use::kCopied)); });
    EXPECT_TRUE(receive_all(*far, 1, {got}));
    sender.join();
    EXPECT_EQ(got, sent);
  }
}

TEST_F(RdmaChannelTest, ARequestThatIsNotAcceptedIsRefused) {
  RdmaListener listener({kV4, 0});
  std::thread dialer([&] {
    EXPECT_THAT([&] { dial_rdma(listener.address(), {}, kDialTime); },
                ThrowsMessage<ConnectionError>(HasSubstr("REJECTED")));
  });
  listener.next().reset();
  dialer.join();
}

TEST_F(RdmaChannelTest, AStoppedListenerEnds) {
  RdmaListener listener({kV4, 0});
  std::thread stopper([&] { listener.stop(); });
  EXPECT_EQ(listener.next(), nullptr);
  stopper.join();
}

TEST_F(RdmaChannelTest, ShutdownWakesWhoeverWaits) {
  RdmaPair pair;
  std::thread receiver([&] {
    std::byte byte{};
    pair.far->expect(1, 1);
    EXPECT_FALSE(pair.far->receive({{&byte, 1}, nullptr}));
  });
  const std::byte byte{};
  std::thread sender([&] { EXPECT_FALSE(pair.far->send(2, {{&byte, 1}}, RdmaChannel::Use::kCopied)); });
  pair.far->shutdown();
  receiver.join();
  sender.join();
  EXPECT_FALSE(pair.far->send(3, {{&byte, 1}}, RdmaChannel::Use::kCopied));
}

TEST_F(RdmaChannelTest, WhatWasSentBeforeTheEndArrives) {
  RdmaPair pair;
  Registered from(*pair.near, pattern(100'000, 1));
  Registered to(*pair.far, std::vector<std::byte>(100'000));
  pair.far->announce(1, to.destination());
  ASSERT_TRUE(send_all(*pair.near, 1, from.source(), RdmaChannel::Use::kCopied));
  pair.near->shutdown();
  EXPECT_TRUE(receive_all(*pair.far, 1, to.destination()));
  EXPECT_EQ(to.bytes, from.bytes);
}

}  // namespace
}  // namespace remotecl::testing
