// Kernels that write anything anywhere. The proxy runs over memory that no device has.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/pair_broker.h"
#include "extras/kernel_sockets/space/proxy_fixture.h"

namespace remotecl::testing {
namespace {

using namespace server;

class HostileTest : public ProxyTest<PairBroker> {
 protected:
  HostileTest() { begin(); }
};

TEST_F(HostileTest, PositionsThatAreNoneEndTheSocketAndNoOther) {
  for (std::uint32_t index = 0; index < 3; ++index) request(index, layout::kConnect, 0, "tcp:any:2");
  for (std::uint32_t index = 0; index < 3; ++index) ASSERT_TRUE(becomes(index, layout::kConnected));
  word(layout_.send_tails + 0, 1025);
  ASSERT_TRUE(becomes(0, layout::kFailed));
  EXPECT_EQ(line(0, layout::kError), static_cast<std::uint32_t>(EPROTO));
  word(layout_.receive_heads + 4, 7);
  for (std::size_t peer = 0; peer < 3; ++peer) broker_->write(peer, 1);
  ASSERT_TRUE(becomes(1, layout::kFailed));
  EXPECT_EQ(line(2, layout::kState), layout::kConnected);
  request(2, layout::kConnect, 0, "tcp:any:2");  // a socket that is in use
  ASSERT_TRUE(becomes(2, layout::kFailed));
  request(3, layout::kConnect, 0, "tcp:any:2");
  EXPECT_TRUE(becomes(3, layout::kConnected));
}

TEST_F(HostileTest, RequestsThatMakeNoSenseFail) {
  request(0, layout::kConnect, 0, std::string(113, 'x'));
  request(1, layout::kAccept, 0xffffffff, "");
  request(2, layout::kAccept, layout::handle(2, 1), "");
  for (std::uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(becomes(index, layout::kFailed)) << index;
    EXPECT_EQ(line(index, layout::kError), static_cast<std::uint32_t>(EINVAL)) << index;
  }
  request(3, 12345, 0, "tcp:any:2");
  request(4, layout::kClose, 0, "");
  request(5, layout::kConnect, 0, "tcp:any:2");
  EXPECT_TRUE(becomes(5, layout::kConnected));
  EXPECT_EQ(line(3, layout::kState), 0u);
}

// Any word, any time, while peers write, read and vanish.
TEST_F(HostileTest, RandomWordsHarmNothingButTheirSockets) {
  const char* const given = std::getenv("REMOTECL_TEST_SEED");
  const std::uint32_t seed = given != nullptr ? static_cast<std::uint32_t>(std::atol(given)) : std::random_device{}();
  std::cout << "REMOTECL_TEST_SEED=" << seed << "\n";
  std::mt19937 random(seed);
  const std::size_t before = open_descriptors();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  const char* const texts[] = {"tcp:any:2", "udp:any:3", "rcl:a", "rcl:b", "unix:/x", "tcp:any:1", "", "junk"};
  while (std::chrono::steady_clock::now() < end) {
    const std::uint32_t index = random() % shape_.sockets, kind = random() % 16;
    if (kind < 6) {
      request(index, random() % 8, random() % 2 == 0 ? random() : layout::handle(random() % 8, random() % 4),
              texts[random() % std::size(texts)]);
    } else if (kind < 9) {
      const std::uint32_t array = random() % 2 == 0 ? layout_.send_tails : layout_.receive_heads;
      const std::uint32_t at = array + 4 * index;
      word(at, random() % 4 == 0 ? random() : load_shared(data() + at) + 32 * (random() % 8));
    } else if (kind < 10) {
      word(4 * (random() % static_cast<std::uint32_t>(layout_.size / 4)), random());
    } else if (kind < 11) {
      word(layout_.rings + 32 * (random() % 512), random() % 256);
    } else if (kind < 12) {
      broker_->offer(1);
    } else if (kind < 14) {
      broker_->write(random(), random() % 4096);
    } else if (kind < 15) {
      broker_->read(random());
    } else {
      broker_->close(random());
    }
  }
  const auto stop = std::chrono::steady_clock::now();
  proxy_.reset();
  // For a second, peers that read nothing may begin to.
  EXPECT_LT(std::chrono::steady_clock::now() - stop, std::chrono::seconds(2));
  for (std::size_t i = 0; i < 64; ++i) broker_->close(0);
  for (std::size_t i = memory_.size() - kRest; i < memory_.size(); ++i) EXPECT_EQ(memory_[i], std::byte{0x5a});
  // A helper thread may have one that was still being opened.
  EXPECT_LE(open_descriptors(), before + 2);
}

}  // namespace
}  // namespace remotecl::testing
