#include "extras/rdma/rdma_acceptor.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;

class RdmaAcceptorTest : public RdmaTest {
 protected:
  static std::vector<std::string> hosts(const std::string& host) {
    std::vector<std::string> hosts;
    for (const Address& address : RdmaAcceptor(host).addresses()) hosts.push_back(address.host);
    return hosts;
  }
  // Only in the guest, which has the interface.
  static void change_addresses(const char* verb, const char* address) {
    ASSERT_EQ(std::system(("ip address " + std::string(verb) + " " + address + " dev rdma0").c_str()), 0);
  }
};

TEST_F(RdmaAcceptorTest, ListensAtTheAddressesThatItsOwnIncludes) {
  EXPECT_THAT(hosts("0.0.0.0"), ::testing::UnorderedElementsAre(kV4, kV6));
  EXPECT_THAT(hosts(kV6), ::testing::ElementsAre(kV6));
}

// Ports become active after the daemon has begun, or a network gets its address late.
TEST_F(RdmaAcceptorTest, ListensAsSoonAsItCan) {
  constexpr char kLate[] = "10.9.0.7";
  RdmaAcceptor acceptor(kLate);
  std::string cause;
  EXPECT_TRUE(acceptor.addresses(&cause).empty());
  EXPECT_THAT(cause, ::testing::HasSubstr(kLate));
  change_addresses("add", "10.9.0.7/24");
  const auto begun = Clock::now();
  while (acceptor.addresses(&cause).empty() && Clock::now() - begun < 40s) std::this_thread::sleep_for(100ms);
  EXPECT_EQ(acceptor.addresses().size(), 1u) << cause;
  EXPECT_EQ(cause, "");
  EXPECT_GT(Clock::now() - begun, 5s) << "looking costs time, and happens every ten seconds";
  acceptor.stop();
  change_addresses("delete", "10.9.0.7/24");
}

}  // namespace
}  // namespace remotecl::testing
