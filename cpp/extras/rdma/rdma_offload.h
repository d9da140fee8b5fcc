#pragma once

#include "runtime/handshake/bulk_offload.h"

namespace remotecl {

// RDMA, for use_bulk_offload().
BulkOffload& rdma_offload();

}  // namespace remotecl
