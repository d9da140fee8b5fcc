#pragma once

#include "server/execution/issuer.h"
#include "server/memory/region.h"
#include "server/transfer/transfer_table.h"

namespace remotecl::server {

// Copies bytes from a device to the queue's device. Devices have separate native contexts, so the bytes pass
// through host memory: in pinned pieces or, if the memory of a device is host memory, with one copy. Runs on one
// of the session's threads, because one context can only wait for the other by blocking; several transfers
// run concurrently.
struct DeviceTransferCommand {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;
  Device* source;

  cl_int issue(Issue& issue) REQUIRES(session_lock);
};

}  // namespace remotecl::server
