#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/protocol/frames.h"
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

// The message that the connecting side sends with its request for an RDMA channel.
struct RdmaRequestWords {
  std::uint64_t ticket;
  std::uint32_t number;  // of the channel: higher than those of former ones
  Secret proof;
  REMOTECL_FIELDS(ticket, number, proof)
};
inline constexpr std::size_t kRdmaRequestSize = 28;

// The accepting side's reply.
struct RdmaReplyWords {
  Secret proof;
  REMOTECL_FIELDS(proof)
};
inline constexpr std::size_t kRdmaReplySize = 16;

// With the proof of a side that knows the stream's key (rdma_key). The reply's is for these words.
RdmaRequestWords rdma_request(const Secret& key, std::uint64_t ticket, std::uint32_t number);
RdmaReplyWords rdma_reply(const Secret& key, const RdmaRequestWords& to);
// Returns true if the proof is right.
bool is_proved(const Secret& key, const RdmaRequestWords& words);
bool is_proved(const Secret& key, const RdmaRequestWords& to, const RdmaReplyWords& words);

// The addresses of an offer. Those that have no number, and those too many, are left out.
RdmaOffer rdma_offer(std::uint64_t ticket, const std::vector<Address>& addresses);
std::vector<Address> addresses_of(const RdmaOffer& offer);

}  // namespace remotecl
