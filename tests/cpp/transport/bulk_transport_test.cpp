// Bulk data in chunks, over each kind of connection.
#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "transport/bulk_transport_suite.h"
#include "transport/connection_kinds.h"

namespace remotecl {
namespace {

template <class Kind>
struct OverStream {
  static void skip_if_missing() {}
  static BulkPair make() {
    auto [near, far] = Kind::make();
    return {std::make_unique<StreamBulkTransport>(std::move(near)),
            std::make_unique<StreamBulkTransport>(std::move(far))};
  }
};
template <class>
struct Streams;
template <class... Kinds>
struct Streams<::testing::Types<Kinds...>> {
  using All = ::testing::Types<OverStream<Kinds>...>;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Streams, BulkTransportTest, Streams<kinds::All>::All);

}  // namespace
}  // namespace remotecl
