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
// Compressing whatever the link is.
template <class Kind>
struct Packed {
  static void skip_if_missing() {}
  static BulkPair make() {
    auto [near, far] = Kind::make();
    return {std::make_unique<StreamBulkTransport>(std::move(near), RdmaState(), CompressionMode::kAlways),
            std::make_unique<StreamBulkTransport>(std::move(far), RdmaState(), CompressionMode::kAlways)};
  }
};
template <class>
struct Streams;
template <class... Kinds>
struct Streams<::testing::Types<Kinds...>> {
  using All = ::testing::Types<OverStream<Kinds>...>;
  using AllPacked = ::testing::Types<Packed<Kinds>...>;
};
INSTANTIATE_TYPED_TEST_SUITE_P(PackedStreams, BulkTransportTest, Streams<kinds::All>::AllPacked);
INSTANTIATE_TYPED_TEST_SUITE_P(Streams, BulkTransportTest, Streams<kinds::All>::All);

}  // namespace
}  // namespace remotecl
