#include <cmath>
#include <string>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

void handle(Session& session, const Ping& message) { session.outbox().add(Pong{message.token}); }

void handle(Session& session, const Introduce& message) {
  const auto name = [](std::string_view text) { return std::string(text.substr(0, kStatusTextMax)); };
  session.introduce({message.process, name(message.host), name(message.program)},
                    std::chrono::milliseconds(message.window_ms));
  if (ContentStore* const store = session.shared().store) store->introduce(message.owner);
}

void handle(Session& session, const ClientReceived& message) {
  ResumableConnection* const stream = session.stream(message.stream, message.channel);
  if (stream == nullptr || !stream->acknowledged(message.bytes)) {
    throw ProtocolError("the client has received more than was sent");
  }
}

void handle(Session& session, const Leave&) { session.expect_end(); }

void handle(Session& session, const GetStatus& message) {
  session.outbox().add_encoded(session.shared().board.answer(message.token, session));
}

void handle(Session& session, const WatchLoads& message) {
  LoadBoard& loads = session.shared().loads;
  if (message.is_wanted > 1) throw ProtocolError("a session wants loads or does not");
  if (message.is_wanted == 0) return loads.unwatch(session.id());
  loads.watch(session.id(), session.grant().devices(), [session = Ref<Session>(&session)](auto changes) {
    const auto weight = static_cast<std::uint64_t>(std::llround(session->grant().weight() * 1000));
    return session->outbox().try_send(DeviceLoads{changes, weight});
  });
}

void handle(Session&, const KickSession&) { throw ProtocolError("only a monitor may end sessions"); }

}  // namespace remotecl::server
