// How a session connects, and connects again when it has lost a connection.
#include <future>
#include <random>
#include <thread>

#include "runtime/client/session/session.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5000};
constexpr std::chrono::milliseconds kFirstPause{20};

// A server greets a limited number of connections at a time, those of many clients that begin together, and first has
// to notice that an attempt has failed.
void connect_further(BulkChannel& channel, const BulkChannel::Joining& joining) {
  std::minstd_rand random(std::random_device{}());
  const auto end = std::chrono::steady_clock::now() + kConnectTimeout;
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

void Session::connect() {
  const std::uint64_t resumable = window_.count() != 0 ? kFeatureResumable : 0;
  auto control = dialer_.connect(kConnectTimeout);
  if (const PeerCertificate* const shown = control->peer_certificate()) key_ = shown->key;
  const std::uint64_t features = resumable | (is_exclusive_ ? kFeatureExclusive : 0);
  welcome_ =
      handshake_with_server(*control, address_, dialer_.token(), Role::kControl, features, Patience::of(window_));
  const Invitation invitation{welcome_.session, welcome_.epoch, welcome_.secret};
  numeric_address_ = tcp::peer_address(*control);
  if ((welcome_.features & kFeatureResumable) == 0) {
    given_up_in_forks_.push_back(control->wait_handle());
    control_ = std::move(control);
  } else {
    reconnector_ =
        std::make_unique<Reconnector>(address_, invitation, window_, kConnectTimeout, unshared_dial(dialer_), notice);
    control_ = make_stream(unshared(std::move(control)));
    reconnector_->add(*streams_.control(), Role::kControl);
  }
  writer_ = std::make_shared<ControlWriter>(control_);
  connect_channels({address_, invitation, dialer_, kConnectTimeout, window_, reconnector_.get(), bulk_streams_max_});
}

// The further ones side by side: each takes a few round trips.
void Session::connect_channels(const BulkChannel::Joining& joining) {
  channels_.push_back(std::make_unique<BulkChannel>(*this, 0));
  const unsigned count = channels_.front()->connect(joining);
  for (unsigned number = 1; number < count; ++number) {
    channels_.push_back(std::make_unique<BulkChannel>(*this, number));
  }
  std::vector<std::future<void>> connecting;
  for (unsigned number = 1; number < count; ++number) {
    connecting.push_back(std::async([&joining, &channel = *channels_[number]] { connect_further(channel, joining); }));
  }
  for (auto& each : connecting) each.get();
}

std::unique_ptr<Connection> Session::make_stream(std::shared_ptr<Connection> carrier) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] { reconnector_->broken(); };
  hooks.acknowledge = [this](std::uint64_t received) {
    send(ClientReceived{StreamKind::kControl, 0, received});
    submit_now();
  };
  return streams_.add(StreamKind::kControl,
                      std::make_unique<ResumableConnection>(std::move(carrier), window_, std::move(hooks)));
}

void Session::handle_received(const ServerReceived& report) {
  const bool is_bulk = report.stream == StreamKind::kBulk;
  BulkChannel* const channel = is_bulk ? this->channel(report.channel) : nullptr;
  ResumableConnection* stream = is_bulk ? nullptr : streams_.control();
  if (channel != nullptr) stream = channel->stream();
  if (stream == nullptr || !stream->acknowledged(report.bytes)) {
    return lose("the server has received more than was sent to it");
  }
  if (channel != nullptr) channel->end_received();
}

void Session::wait_for_room() {
  if (is_reading()) return;  // what makes room has yet to be read
  wait([this] { return !streams_.control()->crowded(); });
}

void Session::expect_shutdown() {
  shutdown_expected_ = true;
  const MutexLock lock(lost_mutex_);
  if (is_released_) return;
  streams_.end_when_broken();
  for (const auto& channel : channels_) {
    if (channel->stream() != nullptr) channel->stream()->end_when_broken();
  }
}

void Session::leave() {
  if (lost()) return;
  if (streams_.control() == nullptr) return writer_->submit_now();
  expect_shutdown();
  writer_->send_last(Leave{});
}

void Session::close() {
  expect_shutdown();
  leave();
  lose("this program has closed the connection");
}

}  // namespace remotecl
