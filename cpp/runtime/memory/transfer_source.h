#pragma once

#include <cstdint>
#include <span>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// How bytes get from a holder to the device that needs them, the cheapest first.
enum class Route {
  kSameServer,  // between devices of one server
  kPeer,        // from server to server
  kHost,        // from this process
  kClient,      // from server to server through this process
};

// A holder that is in reach.
struct TransferSource {
  Location location;
  Route route;
  unsigned busy;  // large transfers that its server is sending already
  bool arriving;  // its own copy is still on the way, and waits for nothing else
  bool held;      // its own copy waits for commands: whoever needs it waits for them, too
};

// The source to take `size` bytes from, an index into `sources`, which may not be empty.
//
// One source for many destinations becomes a chain or a tree by itself, as a server that sends already costs more than
// one that has just received: then every link carries the bytes once. A copy that waits for commands is the last
// choice: the bytes would be late, and two programs' waits could close a circle.
std::size_t cheapest_source(std::span<const TransferSource> sources, std::uint64_t size);

}  // namespace remotecl
