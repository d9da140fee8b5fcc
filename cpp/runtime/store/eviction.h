#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/store/directory.h"

namespace remotecl {

// The order in which a store's entries are removed.
enum class Eviction {
  kLeastRecent,  // what was not used for longest first
  // For content that is read as a whole, again and again, and may be larger than the store. Least-recently-used order
  // would remove each entry just before it is wanted. So the newest entries go first, apart from an eighth of them,
  // which replaces any others. Entries that were not used for days go before those.
  kScanned,
};

// The entry's owner is the beginning of its name.
inline constexpr std::size_t kOwnerDigits = 16;

// Returns the names of the entries to remove, so that the rest fits into `bound` with some room. If there are several
// owners, none keeps more than half; otherwise one that writes much would displace all others.
std::vector<std::string> superfluous(std::vector<Directory::Entry> entries, std::uint64_t bound, Eviction order);

}  // namespace remotecl
