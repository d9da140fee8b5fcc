#pragma once

#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/transfer/bulk_route.h"
#include "server/transfer/transfer_progress.h"

namespace remotecl::server {

// Sends a peer the bytes of a transfer that is still arriving here, piece by piece as they come: one source for many
// servers takes the time of one transfer and a little for each further server.
struct CutThroughSend {
  static constexpr bool kLong = true;

  Region region;
  TransferId transfer;
  Ref<BulkRoute> route;
  Ref<TransferProgress> progress;

  cl_int issue(Issue& issue);
  void failed(cl_int error) { route->refuse(transfer, error); }
};

}  // namespace remotecl::server
