#pragma once

#include "server/transfer/bulk_commands.h"
#include "server/transfer/transfer_progress.h"

namespace remotecl::server {

// Sends a peer the bytes of a transfer that is still arriving here, piece by piece as they come: one source for many
// servers takes the time of one transfer and a little for each further server.
struct FollowCommand {
  static constexpr bool kLong = true;

  Session* session;
  Region region;
  TransferId transfer;
  Ref<PeerLink> peer;
  Ref<TransferProgress> progress;

  void keep(Session&) {}
  cl_int issue(Issue& issue);
  void failed(cl_int error) { peer->refuse(transfer, error); }
};

}  // namespace remotecl::server
