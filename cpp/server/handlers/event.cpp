#include "server/handlers/handlers.h"

namespace remotecl::server {

void handle(Session& session, const ObserveEvent& message) { session.events().observe(message.event); }
void handle(Session& session, const ReleaseEvent& message) { session.events().release(message.event); }
void handle(Session& session, const ExpectEvent& message) {
  session.signals().expect(message.event, message.peer);
  if (message.peer != 0 && session.peers().gone(message.peer))
    session.signals().signal(message.event, CL_DEVICE_NOT_AVAILABLE);
}
void handle(Session& session, const SignalEvent& message) {
  if (message.peer == 0) return session.signals().signal(message.event, message.status);
  session.signals().signal_for(message.peer, message.event, message.status);
}

void handle(Session& session, const FlushTrace&) { session.reporter().hurry_traces(); }

}  // namespace remotecl::server
