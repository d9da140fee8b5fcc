#pragma once

#include <cstdint>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"

namespace remotecl {

// Whether RDMA carries bulk data: REMOTECL_RDMA from the environment.
enum class RdmaUse { kAuto, kOff, kRequire };
RdmaUse rdma_use();

// kFeatureRdma if RDMA is wanted and this machine has a device, for a connection that is not encrypted.
std::uint64_t rdma_features();
// Throws ConnectionError, which says why `address` has no RDMA for this side, if RDMA is required.
void require_rdma(const Address& address, std::uint64_t features);

// What the connecting side sends with its request for an RDMA connection. The accepting side answers with
// accepting_rdma_proof().
struct RdmaRequestWords {
  std::uint64_t ticket;
  std::uint32_t number;  // of the channel: higher than those of former ones
  Secret proof;
  REMOTECL_FIELDS(ticket, number, proof)
};
inline constexpr std::size_t kRdmaRequestSize = 28;

// The proofs that a side knows the stream's key (rdma_key).
Secret connecting_rdma_proof(const Secret& key, std::uint64_t ticket, std::uint32_t number);
Secret accepting_rdma_proof(const Secret& key, std::uint64_t ticket, std::uint32_t number);

// The addresses of an offer. Those that have no number, and those too many, are left out.
RdmaOffer rdma_offer(std::uint64_t ticket, const std::vector<Address>& addresses);
std::vector<Address> addresses_of(const RdmaOffer& offer);

}  // namespace remotecl
