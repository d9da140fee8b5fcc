// Lets a session go on over new connections when it loses its own.
#include <chrono>
#include <utility>

#include "server/session/session.h"
#include "server/util/log.h"

namespace remotecl::server {

Session::Control Session::make_control(std::shared_ptr<Connection> carrier, bool is_resumable) {
  if (!is_resumable) return {std::move(carrier)};
  auto hooks = recovery_.hooks("control", [this](std::uint64_t received) {
    outbox_.add(ServerReceived{StreamKind::kControl, 0, received});
  });
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), recovery_.window(), std::move(hooks));
  ResumableConnection* const stream = made.get();
  return {std::move(made), stream};
}

ResumableConnection* Session::stream(StreamKind kind, unsigned channel) {
  if (kind == StreamKind::kControl) return control_.stream;
  const BulkChannel* const bulk = channels_.find(channel);
  return bulk == nullptr ? nullptr : bulk->stream();
}

std::vector<OpenStream> Session::streams(Role role, unsigned channel) {
  if (role == Role::kPeerControl || role == Role::kPeerBulk) return peers_.streams(role);
  ResumableConnection* own = nullptr;
  if (role == Role::kControl) own = stream(StreamKind::kControl, 0);
  if (role == Role::kBulk) own = stream(StreamKind::kBulk, channel);
  if (own == nullptr) return {};
  return {{secret(), own, nullptr}};
}

void Session::expect_end() {
  if (control_.stream != nullptr) control_.stream->end_when_broken();
  channels_.end_when_broken();
}

void Session::stop_arguments_of_absent() {
  constexpr std::chrono::milliseconds kAbsence{800};  // with the watch's period, within a second
  ResumableConnection* const control = control_.stream;
  if (control == nullptr || !control->broken()) return;
  if (std::chrono::steady_clock::now() - control->broken_since() < kAbsence) return;
  const std::size_t stopped = arguments_->stop_present();
  if (stopped != 0) log_warning("its client is not there: {} of its networks stop", stopped);
}

// A client's process can be watched only if it runs on this machine; loopback may also be a tunnel from
// another machine.
void Session::introduce(Client::Claims claims, std::chrono::milliseconds window) {
  recovery_.set_window(window);
  if (control_.stream != nullptr) control_.stream->set_window(recovery_.window());
  channels_.set_window(recovery_.window());
  if (address().is_loopback() && claims.host == shared_.board.daemon().host) recovery_.watch(claims.process);
  client_.set_claims(std::move(claims));
}

}  // namespace remotecl::server
