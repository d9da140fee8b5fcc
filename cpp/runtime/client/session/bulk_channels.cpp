#include "runtime/client/session/bulk_channels.h"

#include <future>

#include "runtime/handshake/retries.h"

namespace remotecl {
namespace {

// Retries, because a server limits the number of concurrent handshakes, which many clients that start
// together exceed, and because it takes time to notice that an attempt has failed.
void connect_further(BulkChannel& channel, const BulkChannel::Joining& joining) {
  for (Retries retries;;) {
    try {
      channel.connect(joining);
      return;
    } catch (const StreamGone&) {
      throw;
    } catch (const ConnectionError&) {
      retries.rest(joining.timeout);
    }
  }
}

}  // namespace

// Connects the further channels concurrently, because each takes a few round trips.
void BulkChannels::connect(const BulkChannel::Joining& joining) {
  channels_.push_back(std::make_unique<BulkChannel>(session_, 0));
  const unsigned count = channels_.front()->connect(joining);
  for (unsigned number = 1; number < count; ++number) {
    channels_.push_back(std::make_unique<BulkChannel>(session_, number));
  }
  std::vector<std::future<void>> connecting;
  for (unsigned number = 1; number < count; ++number) {
    connecting.push_back(std::async([&joining, &channel = *channels_[number]] { connect_further(channel, joining); }));
  }
  for (auto& each : connecting) each.get();
}

unsigned BulkChannels::streams() const {
  unsigned streams = 0;
  for (const auto& channel : channels_) streams += channel->streams();
  return streams;
}

Traffic BulkChannels::traffic() const {
  Traffic traffic{};
  for (const auto& channel : channels_) {
    const BulkTransport& bulk = channel->transport();
    const RdmaState rdma = bulk.rdma();
    const std::uint64_t sent = bulk.bytes_sent() + rdma.bytes_sent;
    const std::uint64_t received = bulk.bytes_received() + rdma.bytes_received;
    traffic += {0, 0, 0, 0, sent, channel->sent(), received, channel->received(), bulk.compression()};
  }
  return traffic;
}

RdmaState BulkChannels::rdma() const {
  RdmaState rdma;
  for (const auto& channel : channels_) rdma += channel->transport().rdma();
  return rdma;
}

void BulkChannels::end_when_broken() const {
  for (const auto& channel : channels_) {
    if (channel->stream() != nullptr) channel->stream()->end_when_broken();
  }
}

void BulkChannels::shutdown() const {
  for (const auto& channel : channels_) channel->shutdown();
}

void BulkChannels::release() const {
  for (const auto& channel : channels_) channel->release();
}

}  // namespace remotecl
