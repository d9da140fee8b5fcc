#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/transport/address.h"
#include "server/status/status_report.h"

namespace remotecl::server {

// The process of a session runs its client's kernels, so what it reports about itself is only a claim. What the daemon
// makes of claims is bounded, speaks of no other session and no other user, and is safe to print and to add up.

// What the daemon knows by itself. A value.
struct SessionFacts {
  std::uint64_t session = 0;
  std::string user;
  Address client;
  double weight = 1;
  std::size_t devices = 0;
};

// More than one session moves, counts or waits for in years, and exact in a double.
inline constexpr std::uint64_t kClaimMax = std::uint64_t{1} << 53;
inline constexpr std::size_t kClaimedLinksMax = 256;
inline constexpr std::size_t kClaimedTextMax = 1024;

StatusReport bounded(StatusReport claimed, const SessionFacts& facts);
// Why the session has ended, in words for people.
std::string bounded_text(std::string_view claimed);

}  // namespace remotecl::server
