#pragma once

#include "runtime/protocol/messages/message.h"

// What a server keeps for later processes. It follows StatusSockets in the same message.
namespace remotecl {

// Of built programs, or of chunks of uploads.
struct StoreStatus {
  std::uint64_t entries = 0, bytes = 0;  // on the server's disk
  std::uint64_t hits = 0, misses = 0;    // since the server started
  std::uint64_t hit_bytes = 0;           // of chunks that were found
  std::uint64_t failures = 0;            // could not be stored, or was removed because it was damaged
  REMOTECL_FIELDS(entries, bytes, hits, misses, hit_bytes, failures)
};

struct StatusStores {
  Sequence<StoreStatus> stores;  // of programs and of uploads; empty if nothing is kept
  REMOTECL_FIELDS(stores)
};

}  // namespace remotecl
