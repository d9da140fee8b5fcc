#include "server/admission/pending_handshakes.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "runtime/transport/tcp/loopback.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using server::PendingHandshakes;

class PendingHandshakesTest : public ::testing::Test {
 protected:
  struct Guest {
    std::unique_ptr<Connection> near, far;
    std::optional<PendingHandshakes::Slot> slot;
    bool was_ended() const {
      std::byte byte;
      return far->try_read_some({&byte, 1}) == 0;
    }
  };

  Guest& come(const std::string& host) {
    auto [near, far] = loopback::make_pair();
    auto slot = pending_handshakes_.enter(*near, {host, 1}, now_);
    return guests_.emplace_back(Guest{std::move(near), std::move(far), std::move(slot)});
  }
  void fill(std::size_t count, const std::string& host) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(come(host).slot);
  }
  std::size_t ended() const {
    std::size_t count = 0;
    for (const Guest& guest : guests_) count += guest.was_ended() ? 1 : 0;
    return count;
  }

  PendingHandshakes pending_handshakes_;
  PendingHandshakes::Clock::time_point now_ = PendingHandshakes::Clock::now();
  std::deque<Guest> guests_;  // after the places that they have
};

TEST_F(PendingHandshakesTest, TheOldestOfTheAddressWithTheMostGivesWayToAnother) {
  ASSERT_TRUE(come("10.0.0.2").slot);
  fill(PendingHandshakes::kMax - 1, "10.0.0.1");
  for (std::size_t i = 1; i <= 10; ++i) {
    EXPECT_TRUE(come("10.0.0.3").slot);
    EXPECT_TRUE(guests_[i].was_ended()) << i;
    EXPECT_EQ(ended(), i);
  }
}

TEST_F(PendingHandshakesTest, OneAddressHasAllPlacesWhileNobodyElseComes) {
  fill(PendingHandshakes::kMax, "10.0.0.1");
  EXPECT_FALSE(come("10.0.0.1").slot);
  guests_.front().slot.reset();
  EXPECT_TRUE(come("10.0.0.1").slot);
}

TEST_F(PendingHandshakesTest, WhoHasSaidNothingForLongGivesWayToAnybody) {
  fill(PendingHandshakes::kMax, "10.0.0.1");
  now_ += PendingHandshakes::kPatience;
  EXPECT_TRUE(come("10.0.0.1").slot);
  EXPECT_TRUE(guests_.front().was_ended());
  EXPECT_EQ(ended(), 1u);
}

TEST_F(PendingHandshakesTest, AnAddressThatIsKnownHasPlacesThatManyOthersCannotTake) {
  Guest& known = come("10.9.9.9");
  known.slot->leave_proved();
  for (std::size_t i = 0; i < PendingHandshakes::kMax; ++i) ASSERT_TRUE(come("10.0.0." + std::to_string(i)).slot);
  EXPECT_FALSE(come("10.8.8.8").slot) << "nobody has more than one";
  EXPECT_TRUE(come("10.9.9.9").slot);
  EXPECT_EQ(ended(), 0u);
}

TEST_F(PendingHandshakesTest, AddressesOfOneNetworkOfIPv6CountAsOne) {
  for (std::size_t i = 0; i < PendingHandshakes::kMax; ++i) ASSERT_TRUE(come("2001:db8::1:" + std::to_string(i)).slot);
  EXPECT_TRUE(come("2001:db8:1::1").slot);
  EXPECT_EQ(ended(), 1u);
  EXPECT_TRUE(come("::ffff:10.0.0.1").slot);
  EXPECT_TRUE(come("10.0.0.1").slot);
  EXPECT_EQ(ended(), 3u);
}

TEST_F(PendingHandshakesTest, WhoHadToGiveWayTakesNobodysPlaceWithItsEnd) {
  fill(PendingHandshakes::kMax, "10.0.0.1");
  ASSERT_TRUE(come("10.0.0.2").slot);
  guests_.front().slot.reset();
  EXPECT_FALSE(come("10.0.0.1").slot);
}

}  // namespace
}  // namespace remotecl::testing
