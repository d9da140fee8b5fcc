#include "runtime/client/session/bulk_channels.h"

#include <chrono>
#include <future>
#include <random>
#include <thread>

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kFirstPause{20};

// Retries, because a server limits the number of concurrent handshakes, which many clients that start
// together exceed, and because it takes time to notice that an attempt has failed.
void connect_further(BulkChannel& channel, const BulkChannel::Joining& joining) {
  std::minstd_rand random(std::random_device{}());
  const auto end = std::chrono::steady_clock::now() + joining.timeout;
  for (auto pause = kFirstPause;; pause *= 2) {
    try {
      channel.connect(joining);
      return;
    } catch (const StreamGone&) {
      throw;
    } catch (const ConnectionError&) {
      const auto jitter = std::chrono::milliseconds(random() % static_cast<unsigned>(pause.count()));
      const auto next = std::chrono::steady_clock::now() + pause / 2 + jitter;
      if (next >= end) throw;
      std::this_thread::sleep_until(next);
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
