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

std::unique_ptr<Connection> Session::make_stream(std::unique_ptr<Connection> carrier, StreamKind kind) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this, kind] {
    const LogScope scope(id_);
    log_info("has lost its {} connection", kind == StreamKind::kBulk ? "bulk" : "control");
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
  return streams_.add(kind, std::move(made));
}

std::vector<OpenStream> Session::streams(Role role) {
  if (role == Role::kPeerControl || role == Role::kPeerBulk) return peers_.streams(role);
  ResumableConnection* const own = streams_.find(role);
  if (own == nullptr) return {};
  return {{secret_, own, nullptr}};
}

void Session::handle(const ClientReceived& message) {
  if (!streams_.acknowledged(message.stream, message.bytes)) {
    throw ProtocolError("the client has received more than was sent");
  }
}

void Session::handle(const Leave&) { streams_.end_when_broken(); }

// Of the client's process only a process of this machine can be watched, and only if it is not some other machine's.
void Session::expect_back(const Introduce& message, const std::string& own_host) {
  window_ = std::min(std::chrono::milliseconds(message.window_ms), kWindowMax);
  {
    // Whoever attaches the bulk stream has either put it there, or sees the new window.
    MutexLock lock(bulk_mutex_);
    streams_.set_window(window_);
  }
  if (!address_.is_loopback() || message.host != own_host) return;
  MutexLock lock(client_mutex_);
  client_process_ = ProcessWatch(message.process);
}

}  // namespace remotecl::server
