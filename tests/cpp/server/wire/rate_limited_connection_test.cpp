// A connection with a rate limit promises what every connection does.
#include "runtime/transport/tcp/tcp.h"
#include "server/wire/rate_limit.h"
#include "transport/connection_suite.h"

namespace remotecl {
namespace {

// Of sockets, with a limit that none of the suite's tests waits for.
struct RateLimited {
  static constexpr bool kGoesOnAfterTimeout = true;

  static std::unique_ptr<Connection> limited(std::unique_ptr<Connection> connection) {
    return server::limit_rate(std::move(connection), {make_ref<server::RateLimit>(std::uint64_t{1} << 40)});
  }
  static std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make() {
    tcp::Listener listener({"127.0.0.1", 0});
    auto near = limited(tcp::connect(listener.address(), 5s));
    return {std::move(near), limited(listener.accept())};
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(RateLimited, ConnectionTest, RateLimited);

}  // namespace
}  // namespace remotecl
