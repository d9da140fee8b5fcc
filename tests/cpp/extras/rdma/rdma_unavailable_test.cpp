#include <gmock/gmock.h>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Most machines have no RDMA: whoever asks is told so, and what happens instead.
class RdmaUnavailableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      active_rdma_ports();
      GTEST_SKIP() << "this machine has RDMA";
    } catch (const RdmaUnavailable&) {
    }
  }
};

TEST_F(RdmaUnavailableTest, PortsSayWhatIsMissing) {
  EXPECT_THAT([] { active_rdma_ports(); },
              ThrowsMessage<RdmaUnavailable>(HasSubstr("RDMA is not available, TCP is used: ")));
}

TEST_F(RdmaUnavailableTest, ListenersSayWhatIsMissing) {
  EXPECT_THAT(
      [] {
        RdmaListener({"127.0.0.1", 0});
      },
      ThrowsMessage<RdmaUnavailable>(HasSubstr("RDMA is not available, TCP is used: ")));
}

TEST_F(RdmaUnavailableTest, DialersSayWhatIsMissing) {
  EXPECT_THAT(
      [] {
        dial_rdma({"127.0.0.1", 1}, {}, 1s);
      },
      ThrowsMessage<RdmaUnavailable>(HasSubstr("RDMA is not available, TCP is used: ")));
}

}  // namespace
}  // namespace remotecl::testing
