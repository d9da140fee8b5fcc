#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/store/directory.h"

namespace remotecl {

// In which order a store's entries go.
enum class Eviction {
  kLeastRecent,  // what was not used for longest first
  // For what is read as a whole, again and again, and may be larger than the store. If what was not used for longest
  // went, each entry would go just before it is wanted. So what has come last goes first, apart from an eighth of it,
  // which replaces any others. What was not used for days still goes before that.
  kScanned,
};

// The entry's owner is the beginning of its name.
inline constexpr std::size_t kOwnerDigits = 16;

// Returns the names of the entries to remove, so that the rest fits into `bound` with some room. If there are several
// owners, none keeps more than half; otherwise one that writes much would displace all others.
std::vector<std::string> superfluous(std::vector<Directory::Entry> entries, std::uint64_t bound, Eviction order);

}  // namespace remotecl
