#pragma once

#include <memory>
#include <string>

#include "runtime/handshake/bulk_offload.h"
#include "runtime/transport/address.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

// Opens RDMA as --rdma says: auto, off, require, an address, or nothing for the value of REMOTECL_RDMA. Returns the
// acceptor of RDMA channels for a server that listens on `listen`, or null. Links to other servers obey the same
// choice. Call it before other threads run. Throws ConnectionError if there is no RDMA although it is required.
std::unique_ptr<BulkOffloadAcceptor> open_rdma(const std::string& option, const Address& listen);
// Logs the route of bulk data between a network card and devices with memory of their own.
void log_way_to_memory(const NativeDriver& driver);

}  // namespace remotecl::server
