#pragma once

#include "runtime/protocol/messages.h"
#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/transfer/bulk_route.h"
#include "server/transfer/transfer_table.h"

namespace remotecl::server {

// Commands whose bytes are sent on a bulk connection.
struct BulkReadCommand {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;
  TransferId transfer;
  Ref<BulkRoute> route;

  cl_int issue(Issue& issue) REQUIRES(session_lock);
  void failed(cl_int error) { route->refuse(transfer, error); }
};

struct BulkWriteCommand {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;
  TransferId transfer;
  Ref<BulkRoute> route;
  Ref<TransferProgress> progress{};  // for sends that may follow the transfer; may be null

  cl_int issue(Issue& issue) REQUIRES(session_lock);
  void failed(cl_int error) REQUIRES(session_lock);
};

}  // namespace remotecl::server
