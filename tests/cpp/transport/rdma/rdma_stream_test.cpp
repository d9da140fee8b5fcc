// The stream of a channel is a connection like every other.
#include "runtime/transport/rdma/rdma_connection.h"
#include "runtime/transport/tcp/loopback.h"
#include "transport/connection_suite.h"
#include "transport/rdma/rdma_pair.h"

namespace remotecl {

struct RdmaStream {
  static constexpr bool kGoesOnAfterTimeout = true;
  static void skip() { testing::skip_without_rdma(); }
  static std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make() {
    try {
      testing::RdmaPair pair;
      return {std::make_unique<RdmaConnection>(std::move(pair.near)),
              std::make_unique<RdmaConnection>(std::move(pair.far))};
    } catch (const RdmaUnavailable&) {  // the test is skipped
      return loopback::make_pair();
    }
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Rdma, ConnectionTest, RdmaStream);

}  // namespace remotecl
