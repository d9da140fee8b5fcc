// How channels are made beside a bulk stream, and who gets none.
#include <sys/resource.h>

#include "extras/rdma/rdma_acceptor.h"
#include "extras/rdma/rdma_connector.h"
#include "rdma_pair.h"
#include "runtime/crypto/secret.h"

namespace remotecl::testing {
namespace {

class RdmaConnectionTest : public RdmaTest {
 protected:
  std::unique_ptr<RdmaConnector> connector(const Secret& key, std::uint64_t ticket) {
    auto made = std::make_unique<RdmaConnector>(acceptor_.addresses(), ticket, key, near_);
    made->start();
    return made;
  }
  static void await_channel(RdmaSlot& slot, std::uint32_t number) {
    const auto end = std::chrono::steady_clock::now() + kDialTime;
    while (slot.get().number < number && std::chrono::steady_clock::now() < end) ASSERT_TRUE(slot.rest(10ms));
    EXPECT_EQ(slot.get().number, number);
    EXPECT_NE(slot.get().channel, nullptr);
  }
  // Asks as a client does; returns true if the answer is a channel.
  bool asks(const RdmaRequestWords& words) {
    try {
      const auto hello = encode_frame<RdmaRequestWords, kRdmaRequestSize>(words);
      return dial_rdma(acceptor_.addresses().at(0), hello, kDialTime).channel != nullptr;
    } catch (const ConnectionError&) {
      return false;
    }
  }

  RdmaAcceptor acceptor_{kV4};
  std::shared_ptr<RdmaSlot> near_ = std::make_shared<RdmaSlot>();
  std::shared_ptr<RdmaSlot> far_ = std::make_shared<RdmaSlot>();
  const Secret key_ = random_secret();
};

TEST_F(RdmaConnectionTest, ThereIsAChannelAndAfterItsLossAnother) {
  const RdmaOffer offer = acceptor_.offer(key_, far_);
  EXPECT_EQ(addresses_of(offer), acceptor_.addresses());
  const auto made = connector(key_, offer.ticket);
  await_channel(*near_, 1);
  await_channel(*far_, 1);
  near_->drop(near_->get().channel);
  await_channel(*near_, 2);
  await_channel(*far_, 2);
}

// It passes: an acceptor that meets it goes on.
TEST_F(RdmaConnectionTest, AShortageOfDescriptorsIsNoLackOfRdma) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 0;
  bool is_unavailable = false, has_failed = false;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  try {
    const CmId id(RdmaLibrary::get());
  } catch (const RdmaUnavailable&) {
    is_unavailable = true;
  } catch (const ConnectionError&) {
    has_failed = true;
  }
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_FALSE(is_unavailable);
  EXPECT_TRUE(has_failed);
}

TEST_F(RdmaConnectionTest, WhoDoesNotKnowTheKeyGetsNone) {
  const RdmaOffer offer = acceptor_.offer(key_, far_);
  const Secret wrong = random_secret();
  EXPECT_FALSE(asks(rdma_request(wrong, offer.ticket, 1)));
  EXPECT_FALSE(asks(rdma_request(key_, offer.ticket + 1, 1)));
  RdmaRequestWords changed = rdma_request(key_, offer.ticket, 1);
  changed.number = 2;
  EXPECT_FALSE(asks(changed));
  EXPECT_EQ(far_->get().channel, nullptr);
}

TEST_F(RdmaConnectionTest, ARequestIsGoodOnceAndWhileItsStreamLives) {
  const RdmaOffer offer = acceptor_.offer(key_, far_);
  const auto words = [&](std::uint32_t number) { return rdma_request(key_, offer.ticket, number); };
  EXPECT_TRUE(asks(words(3)));
  EXPECT_FALSE(asks(words(3)));
  EXPECT_FALSE(asks(words(2)));
  EXPECT_FALSE(asks(words(kChunkNumberMask + 1)));
  far_ = nullptr;
  EXPECT_FALSE(asks(words(4)));
}

// No device is needed for these.
TEST(RdmaOffers, HaveTheirAddresses) {
  const std::vector<Address> addresses{{"10.9.0.1", 4711}, {"fd09::1", 65535}};
  const RdmaOffer offer = rdma_offer(7, addresses);
  EXPECT_EQ(addresses_of(decode_frame<RdmaOffer>(encode_frame<RdmaOffer, kRdmaOfferSize>(offer))), addresses);
  RdmaOffer hostile = offer;
  hostile.count = 4'000'000'000;
  EXPECT_EQ(addresses_of(hostile).size(), RdmaOffer::kAddressesMax);
  EXPECT_EQ(rdma_offer(7, std::vector<Address>(20, addresses[0])).count, RdmaOffer::kAddressesMax);
  EXPECT_EQ(rdma_offer(7, {{"a name", 1}}).count, 0u);
}

}  // namespace
}  // namespace remotecl::testing
