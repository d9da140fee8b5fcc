#include "runtime/client/session/peer_meters.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace remotecl {
namespace {

std::vector<PeerId> measured(const PeerMeters& meters) {
  std::vector<PeerId> senders;
  meters.for_each([&](PeerId sender, double bytes_per_s) {
    EXPECT_GT(bytes_per_s, 0);
    senders.push_back(sender);
  });
  return senders;
}

TEST(PeerMetersTest, EachSenderIsMeasuredByItself) {
  PeerMeters meters;
  meters.begin(3);
  meters.begin(5);
  EXPECT_TRUE(measured(meters).empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  meters.end(5, 8 << 20);
  EXPECT_EQ(measured(meters), std::vector<PeerId>{5});
  meters.end(3, 0);  // failed
  EXPECT_EQ(measured(meters), std::vector<PeerId>{5});
}

}  // namespace
}  // namespace remotecl
