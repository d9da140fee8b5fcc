// How many threads a network has. The proxy runs over memory that no device has.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "extras/kernel_sockets/space/pair_broker.h"
#include "extras/kernel_sockets/space/proxy.h"

namespace remotecl::testing {
namespace {

using namespace server;
using Rule = SpaceThreads::Rule;

class ProxyThreadsTest : public ::testing::Test {
 protected:
  void begin(SpaceThreads threads) {
    proxy_ = std::make_unique<Proxy>(
        memory_.data(), shape_,
        KernelSocketSpace::Hooks{make_ref<PairBroker>(), make_ref<SocketAccount>(), make_ref<KernelNames>(), threads});
    proxy_->kernel_begins();
  }
  // Whether it has so many within ten seconds.
  bool soon_has(std::size_t threads) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (proxy_->threads() != threads) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
  }

  const SpaceShape shape_{8, 1024};
  std::vector<std::byte> memory_ = std::vector<std::byte>(SpaceLayout(shape_).size);
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ProxyThreadsTest, OneIsEnoughForKernelsThatWait) {
  begin({.most = 4});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(proxy_->threads(), 1u);
}

TEST_F(ProxyThreadsTest, ThereAreNoMoreThanSockets) {
  begin({.most = 64, .rule = Rule::kFixed});
  EXPECT_EQ(proxy_->threads(), 8u);
}

TEST_F(ProxyThreadsTest, LanesGoToOtherThreadsAndComeBack) {
  begin({.most = 2, .rule = Rule::kRestless});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(soon_has(2));
    EXPECT_TRUE(soon_has(1));
  }
}

TEST_F(ProxyThreadsTest, AllEndWithinASecond) {
  begin({.most = 4, .rule = Rule::kRestless});
  soon_has(3);
  const auto begin = std::chrono::steady_clock::now();
  proxy_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(NetworkThreadsTest, HalfOfTheCoresIsTheBound) {
  EXPECT_GE(SpaceThreads{}.bound(), 1u);
  EXPECT_LE(SpaceThreads{}.bound(), 16u);
  EXPECT_EQ(SpaceThreads{.most = 1000}.bound(), SpaceThreads::kMost);
}

}  // namespace
}  // namespace remotecl::testing
