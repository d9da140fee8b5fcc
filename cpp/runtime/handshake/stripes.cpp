#include "runtime/handshake/stripes.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <thread>

#include "runtime/base/settings.h"
#include "runtime/transport/passing_failure.h"
#include "runtime/transport/stream/striped_connection.h"

namespace remotecl {
namespace {

// Less than the other side waits (kStripesTimeoutMs), and as long as more connections are worth.
constexpr std::chrono::milliseconds kOpenTimeout{2000};

// Each core that sends or receives occupies one at the other end, perhaps on the same machine, and the
// application needs cores too.
unsigned streams_of(unsigned cores) { return cores >= 16 ? 4 : 1; }

// Returns null on failure, which does not affect the other connections.
std::shared_ptr<Connection> open_stripe(const Invitation& group, unsigned index, const Joiner& join) {
  const Deadline deadline = std::chrono::steady_clock::now() + kOpenTimeout;
  try {
    return join({Role::kStripe, group, features_of_stripes(index)}, kOpenTimeout, deadline, {}).connection;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

unsigned bulk_streams() {
  const auto number = settings::number("REMOTECL_BULK_STREAMS", "connections", 1, kStripesMax);
  return number ? static_cast<unsigned>(*number) : streams_of(std::thread::hardware_concurrency());
}

std::uint64_t stripes_features(unsigned wanted) { return features_of_stripes(wanted); }

std::uint64_t taken_stripes(const Hello& hello, unsigned channels) {
  if (hello.role != Role::kBulk && hello.role != Role::kPeerBulk) return 0;
  const unsigned count = std::min(stripes_of(hello.features), bulk_streams()) / channels;
  return count < 2 ? 0 : features_of_stripes(count);
}

std::vector<std::shared_ptr<Connection>> open_stripes(Connection& first, const Address& address,
                                                      const Invitation& group, unsigned count, const Joiner& join) {
  std::vector<std::shared_ptr<Connection>> opened;
  if (count < 2) return opened;
  // Connects in parallel, because each takes a few round trips.
  std::vector<std::future<std::shared_ptr<Connection>>> opening;
  try {
    for (unsigned index = 1; index < std::min(count, kStripesMax); ++index) {
      opening.push_back(std::async(std::launch::async, [&, index] { return open_stripe(group, index, join); }));
    }
  } catch (const std::system_error&) {  // no thread could be started; those that were will do
  }
  for (auto& each : opening) opened.push_back(each.get());
  // Drops everything from the first failure on, because the indices must have no gap.
  opened.erase(std::find(opened.begin(), opened.end(), nullptr), opened.end());
  const StripesJoined joined{1 + opened.size()};
  if (!first.write(Bytes(encode_frame<StripesJoined, kStripesJoinedSize>(joined)))) {
    const std::string why = " ended the connection in the midst of the handshake; its log (--log-level info) says why";
    throw BrokenConnection(address.text() + why, true);
  }
  return opened;
}

std::shared_ptr<Connection> join_stripes(std::shared_ptr<Connection> first, const Address& address,
                                         const Invitation& group, unsigned count, const Joiner& join) {
  auto carriers = open_stripes(*first, address, group, count, join);
  if (carriers.empty()) return first;
  carriers.insert(carriers.begin(), std::move(first));
  return std::make_shared<StripedConnection>(std::move(carriers));
}

}  // namespace remotecl
