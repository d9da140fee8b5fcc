#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/transport/bulk/rdma_state.h"

namespace remotecl::server {

// Logs when RDMA comes and goes on a session's bulk stream. `with`: "the client", or "peer 3". The result may be called
// by any thread.
std::function<void(const RdmaState&)> log_rdma(std::uint64_t session, std::string with);

}  // namespace remotecl::server
