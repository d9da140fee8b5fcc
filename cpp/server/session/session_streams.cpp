// What lets a session go on over other connections when it loses its own.
#include <algorithm>
#include <string>

#include "server/session/session.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kWindowMax{600'000};

}  // namespace

ResumableConnection::Hooks Session::stream_hooks(const char* name, std::function<void(std::uint64_t)> acknowledge) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this, name] {
    const LogScope scope(id_);
    log_info("has lost its {} connection", name);
  };
  hooks.acknowledge = std::move(acknowledge);
  hooks.hopeless = [this] {
    MutexLock lock(client_mutex_);
    return client_process_.has_ended();
  };
  return hooks;
}

std::unique_ptr<Connection> Session::make_control(std::unique_ptr<Connection> carrier, bool is_resumable) {
  if (!is_resumable) return carrier;
  auto hooks = stream_hooks("control", [this](std::uint64_t received) {
    outbox_.add(ServerReceived{StreamKind::kControl, 0, received});
  });
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), window_.load(), std::move(hooks));
  control_stream_ = made.get();
  return made;
}

std::vector<OpenStream> Session::streams(Role role, unsigned channel) {
  if (role == Role::kPeerControl || role == Role::kPeerBulk) return peers_.streams(role);
  ResumableConnection* own = nullptr;
  if (role == Role::kControl) own = control_stream_;
  if (const BulkChannel* const bulk = role == Role::kBulk ? this->channel(channel) : nullptr) own = bulk->stream();
  if (own == nullptr) return {};
  return {{secret_, own, nullptr}};
}

void Session::handle(const ClientReceived& message) {
  const bool is_bulk = message.stream == StreamKind::kBulk;
  ResumableConnection* stream = is_bulk ? nullptr : control_stream_;
  if (const BulkChannel* const bulk = is_bulk ? channel(message.channel) : nullptr) stream = bulk->stream();
  if (stream == nullptr || !stream->acknowledged(message.bytes)) {
    throw ProtocolError("the client has received more than was sent");
  }
}

void Session::handle(const Leave&) {
  if (control_stream_ != nullptr) control_stream_->end_when_broken();
  for (const auto& channel : channels_) {
    if (channel->stream() != nullptr) channel->stream()->end_when_broken();
  }
}

// Of the client's process only a process of this machine can be watched, and only if it is not some other machine's.
void Session::expect_back(const Introduce& message, const std::string& own_host) {
  window_ = std::min(std::chrono::milliseconds(message.window_ms), kWindowMax);
  if (control_stream_ != nullptr) control_stream_->set_window(window_);
  for (const auto& channel : channels_) channel->set_window(window_);
  if (!address_.is_loopback() || message.host != own_host) return;
  MutexLock lock(client_mutex_);
  client_process_ = ProcessWatch(message.process);
}

}  // namespace remotecl::server
