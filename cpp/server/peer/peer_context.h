#pragma once

#include "runtime/transport/address.h"
#include "server/admission/peer_rules.h"
#include "server/admission/users.h"
#include "server/arguments/session_arguments.h"
#include "server/execution/issuer.h"
#include "server/execution/peer_signals.h"
#include "server/execution/strand.h"
#include "server/peer/link_dialer.h"
#include "server/transfer/transfer_table.h"
#include "server/wire/outbox.h"
#include "server/wire/stream_recovery.h"

namespace remotecl::server {

// The parts of a session that its links use. All of it outlives their threads.
struct PeerContext {
  Strand& strand;
  Issuer& issuer;
  PeerSignals& signals;
  TransferTable& transfers;
  SessionArguments& arguments;
  Outbox& client;
  const StreamRecovery& recovery;
  const Grant& grant;
  const PeerRules& rules;  // where clients' other servers may be
  const Ref<LinkDialer> dialer;
  const Address& address;  // the client's
};

}  // namespace remotecl::server
