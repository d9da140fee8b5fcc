// Lets a session go on over new connections when it loses its own.
#include <utility>

#include "server/session/session.h"

namespace remotecl::server {

std::unique_ptr<Connection> Session::make_control(std::unique_ptr<Connection> carrier, bool is_resumable) {
  if (!is_resumable) return carrier;
  auto hooks = recovery_.hooks("control", [this](std::uint64_t received) {
    outbox_.add(ServerReceived{StreamKind::kControl, 0, received});
  });
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), recovery_.window(), std::move(hooks));
  control_stream_ = made.get();
  return made;
}

ResumableConnection* Session::stream(StreamKind kind, unsigned channel) const {
  if (kind == StreamKind::kControl) return control_stream_;
  const BulkChannel* const bulk = this->channel(channel);
  return bulk == nullptr ? nullptr : bulk->stream();
}

std::vector<OpenStream> Session::streams(Role role, unsigned channel) {
  if (role == Role::kPeerControl || role == Role::kPeerBulk) return peers_.streams(role);
  ResumableConnection* own = nullptr;
  if (role == Role::kControl) own = stream(StreamKind::kControl, 0);
  if (role == Role::kBulk) own = stream(StreamKind::kBulk, channel);
  if (own == nullptr) return {};
  return {{secret_, own, nullptr}};
}

void Session::expect_end() {
  if (control_stream_ != nullptr) control_stream_->end_when_broken();
  for (const auto& channel : channels_) {
    if (channel->stream() != nullptr) channel->stream()->end_when_broken();
  }
}

// A client's process can be watched only if it runs on this machine; loopback may also be a tunnel from
// another machine.
void Session::introduce(Client client, std::chrono::milliseconds window) {
  recovery_.set_window(window);
  if (control_stream_ != nullptr) control_stream_->set_window(recovery_.window());
  for (const auto& channel : channels_) channel->set_window(recovery_.window());
  if (address_.is_loopback() && client.host == shared_.board.daemon().host) recovery_.watch(client.process);
  MutexLock lock(client_mutex_);
  client_ = std::move(client);
}

}  // namespace remotecl::server
