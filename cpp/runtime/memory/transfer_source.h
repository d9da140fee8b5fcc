#pragma once

#include <cstdint>
#include <span>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// The routes from a holder to the device that needs the bytes, the cheapest first.
enum class Route {
  kSameServer,  // between devices of one server
  kPeer,        // from server to server
  kHost,        // from this process
  kClient,      // from server to server through this process
};

// A reachable holder.
struct TransferSource {
  Location location;
  Route route;
  unsigned busy;        // large transfers that it is already sending
  unsigned hops;        // transfers in a row by which its own copy is still arriving; 0: it is there
  bool held;            // its own copy waits for commands, so whatever needs it waits too
  unsigned served = 0;  // how often it has sent these bytes to other servers
};

// Returns the index of the source from which to take `size` bytes. `sources` must not be empty.
//
// Whoever already sends takes twice the time for one more, while a copy that is still arriving is passed on
// piece by piece and is only as late as a piece for each hop. So a transfer to many destinations turns into a
// tree in which every link carries the bytes once: a long chain for large data, which have many pieces, and a
// bushy tree for small ones. Nobody sends more than a few times, and the tree's depth grows like a logarithm.
// A copy that waits for commands is the last choice: the bytes would be late, and the waits of two programs
// could form a cycle.
std::size_t cheapest_source(std::span<const TransferSource> sources, std::uint64_t size);

}  // namespace remotecl
