#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/transport/address.h"
#include "runtime/transport/bulk/rdma_state.h"

namespace remotecl {

// Whether RDMA carries bulk data: REMOTECL_RDMA from the environment.
enum class RdmaUse { kAuto, kOff, kRequire };
RdmaUse rdma_use();

// This process has no RDMA, whatever is wanted. Call it before other threads run.
void forbid_rdma(std::string_view reason);

// The wish of this process for a connection: kConnecting, or why it asks for none.
RdmaState rdma_wish(bool is_encrypted = false, bool is_limited = false);
// kFeatureRdma if it wants RDMA.
std::uint64_t rdma_features(const RdmaState& wish);
// Throws ConnectionError, which says why `address` has no RDMA for this side, if RDMA is required.
void require_rdma(const Address& address, std::uint64_t features);

}  // namespace remotecl
