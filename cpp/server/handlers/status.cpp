#include <algorithm>

#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

void Session::handle(const Ping& message) { outbox_.add(Pong{message.token}); }

void Session::handle(const Introduce& message) {
  const auto name = [](std::string_view text) { return std::string(text.substr(0, kStatusTextMax)); };
  expect_back(message, shared_.board.daemon().host);
  MutexLock lock(client_mutex_);
  client_ = {message.process, name(message.host), name(message.program)};
}

void Session::handle(const GetStatus& message) { outbox_.add_encoded(shared_.board.answer(message.token, *this)); }

void Session::handle(const KickSession&) { throw ProtocolError("only a monitor may end sessions"); }

Session::Client Session::client() const {
  MutexLock lock(client_mutex_);
  return client_;
}

Traffic Session::traffic() const {
  Traffic traffic{control_->bytes_sent(), outbox_.messages(), control_->bytes_received(), counters_->messages()};
  for (const auto& channel : channels_) traffic += channel->traffic();
  return traffic;
}

}  // namespace remotecl::server
