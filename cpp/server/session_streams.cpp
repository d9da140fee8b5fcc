// What lets a session go on over other connections when it loses its own.
#include <algorithm>
#include <string>

#include "server/log.h"
#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kWindowMax{600'000};

}  // namespace

std::unique_ptr<Connection> Session::make_stream(std::unique_ptr<Connection> carrier, StreamKind kind,
                                                 ResumableConnection*& stream) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this, kind] {
    const LogScope scope(id_);
    spdlog::info("has lost its {} connection", kind == StreamKind::kBulk ? "bulk" : "control");
  };
  hooks.acknowledge = [this, kind](std::uint64_t received) {
    const ServerReceived message{kind, received};
    kind == StreamKind::kBulk ? outbox_.send(message) : outbox_.add(message);
  };
  hooks.hopeless = [this] {
    MutexLock lock(client_mutex_);
    return client_process_.has_ended();
  };
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), window_.load(), std::move(hooks));
  if (kind == StreamKind::kBulk) made->make_writers_wait();
  stream = made.get();
  return made;
}

ResumableConnection* Session::stream(Role role) {
  if (role == Role::kControl) return control_stream_;
  MutexLock lock(bulk_mutex_);
  return role == Role::kBulk ? bulk_stream_ : nullptr;
}

std::vector<OpenStream> Session::streams(Role role) {
  if (role == Role::kPeerControl || role == Role::kPeerBulk) return peers_.streams(role);
  ResumableConnection* const own = stream(role);
  if (own == nullptr) return {};
  return {{secret_, own, nullptr}};
}

void Session::handle(const ClientReceived& message) {
  ResumableConnection* const received = stream(message.stream == StreamKind::kBulk ? Role::kBulk : Role::kControl);
  if (received == nullptr || !received->acknowledged(message.bytes)) {
    throw ProtocolError("the client has received more than was sent");
  }
}

void Session::handle(const Leave&) {
  if (control_stream_ != nullptr) control_stream_->end_when_broken();
  if (ResumableConnection* const bulk = stream(Role::kBulk)) bulk->end_when_broken();
}

// Of the client's process only a process of this machine can be watched, and only if it is not some other machine's.
void Session::expect_back(const Introduce& message, const std::string& own_host) {
  window_ = std::min(std::chrono::milliseconds(message.window_ms), kWindowMax);
  if (control_stream_ != nullptr) control_stream_->set_window(window_);
  if (ResumableConnection* const bulk = stream(Role::kBulk)) bulk->set_window(window_);
  if (!address_.is_loopback() || message.host != own_host) return;
  MutexLock lock(client_mutex_);
  client_process_ = ProcessWatch(message.process);
}

}  // namespace remotecl::server
