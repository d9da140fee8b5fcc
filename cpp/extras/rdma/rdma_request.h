#pragma once

#include <cstdint>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"

namespace remotecl {

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
