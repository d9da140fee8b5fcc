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
  unsigned busy;  // large transfers that its server is already sending
  bool arriving;  // its own copy is still arriving, and waits for nothing else
  bool held;      // its own copy waits for commands, so whatever needs it waits too
};

// Returns the index of the source from which to take `size` bytes. `sources` must not be empty.
//
// A server that already sends costs more than one that has just received the bytes, so a transfer to many
// destinations turns into a chain or a tree in which every link carries the bytes once. A copy that waits for
// commands is the last choice: the bytes would be late, and the waits of two programs could form a cycle.
std::size_t cheapest_source(std::span<const TransferSource> sources, std::uint64_t size);

}  // namespace remotecl
