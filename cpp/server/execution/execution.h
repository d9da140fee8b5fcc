#pragma once

#include "server/execution/event_reporter.h"
#include "server/execution/event_table.h"
#include "server/execution/issuer.h"
#include "server/execution/peer_signals.h"
#include "server/execution/queue_watch.h"
#include "server/execution/strand.h"
#include "server/quota/session_counters.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The parts that execute a session's commands, in the order of their dependencies. Owned by the session.
struct Execution {
  Execution(Strand& strand, Outbox& outbox, const Ref<SessionCounters>& counters)
      : reporter(outbox),
        events(strand, outbox, reporter, counters),
        queue_watch(strand, outbox, events, counters),
        signals(events, counters),
        issuer(strand, events, queue_watch, counters) {}

  EventReporter reporter;
  EventTable events;
  QueueWatch queue_watch;
  PeerSignals signals;
  Issuer issuer;
};

}  // namespace remotecl::server
