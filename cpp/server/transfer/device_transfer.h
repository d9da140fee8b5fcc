#pragma once

#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/transfer/transfer_table.h"

namespace remotecl::server {

// Brings bytes from a device to that of the queue. Devices have native contexts of their own, so the bytes pass host
// memory: in pieces and pinned, or where a device maps its memory in place, with one copy. On one of the session's
// threads, because only waiting tells one context of the other's progress; several transfers run side by side.
struct DeviceTransferCommand {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;
  Device* source;

  cl_int issue(Issue& issue);
};

}  // namespace remotecl::server
