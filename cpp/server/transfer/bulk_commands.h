#pragma once

#include "runtime/protocol/messages.h"
#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/peer/peer_link.h"
#include "server/transfer/bulk_channel.h"

namespace remotecl::server {

// Commands whose bytes travel on a bulk connection: the client's, or where there is a `peer`, that one's.
struct BulkReadCommand {
  static constexpr bool kLong = true;

  Session* session;
  Region region;
  TransferId transfer;
  Ref<PeerLink> peer{};

  void keep(Session&) {}
  cl_int issue(Issue& issue);
  void failed(cl_int error) {
    if (peer) peer->refuse(transfer, error);
  }
};

struct BulkWriteCommand {
  static constexpr bool kLong = true;

  Session* session;
  Region region;
  TransferId transfer;
  Ref<PeerLink> peer{};
  Ref<TransferProgress> progress{};  // of who may follow it; may be null
  BulkChannel* channel = nullptr;    // where there is no peer

  void keep(Session&) {}
  cl_int issue(Issue& issue);
  void failed(cl_int error);
};

}  // namespace remotecl::server
