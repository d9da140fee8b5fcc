#pragma once

#include <memory>
#include <string>

#include "runtime/handshake/rdma_acceptor.h"
#include "runtime/transport/address.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

// What --rdma asks for: auto, off, require, an address, or nothing, and then REMOTECL_RDMA does. Returns what takes
// the RDMA channels of a server that listens on `listen`, or null. Links to other servers obey the same choice. Call it
// before other threads run. Throws ConnectionError if there is no RDMA although it is required.
std::unique_ptr<RdmaAcceptor> open_rdma(const std::string& option, const Address& listen);
// Which way bulk data takes between a network card and the memory of devices that have their own.
void log_way_to_memory(const NativeDriver& driver);

}  // namespace remotecl::server
