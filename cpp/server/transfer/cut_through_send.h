#pragma once

#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/transfer/bulk_route.h"
#include "server/transfer/transfer_progress.h"

namespace remotecl::server {

// Sends the bytes of a transfer to a peer while they are still arriving here, piece by piece. So sending from
// one source to many servers takes the time of one transfer, and a little more for each further server.
struct CutThroughSend {
  static constexpr bool kLong = true;

  Region region;
  TransferId transfer;
  Ref<BulkRoute> route;
  Ref<TransferProgress> progress;

  cl_int issue(Issue& issue) REQUIRES(session_lock);
  void failed(cl_int error) { route->refuse(transfer, error); }
};

}  // namespace remotecl::server
