#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

#include "runtime/memory/residency_directory.h"

// Short names, and readable failures, for the tests of ResidencyDirectory.
namespace remotecl {

inline void PrintTo(const LocationSet& locations, std::ostream* out) {
  *out << "{";
  locations.for_each([out](Location location) { *out << " " << location; });
  *out << " }";
}
inline void PrintTo(const ByteRange& range, std::ostream* out) {
  *out << "[" << range.offset << ", +" << range.size << ")";
}
inline void PrintTo(const ResidencyDirectory::HeldRange& transfer, std::ostream* out) {
  PrintTo(transfer.range, out);
  *out << " from ";
  PrintTo(transfer.holders, out);
}
inline void PrintTo(const ResidencyDirectory::Entry& entry, std::ostream* out) {
  PrintTo(entry.range, out);
  *out << " at ";
  PrintTo(entry.holders, out);
  *out << " v" << entry.version;
}

using Entries = std::vector<ResidencyDirectory::Entry>;
using HeldRanges = std::vector<ResidencyDirectory::HeldRange>;
using Ranges = std::vector<ByteRange>;

inline constexpr Location kA = 1;
inline constexpr Location kB = 2;
inline constexpr Location kC = 3;
inline constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

template <class... Locations>
LocationSet at(Locations... locations) {
  return {locations...};
}

inline HeldRanges missing(const ResidencyDirectory& directory, ByteRange range, Location to) {
  HeldRanges out;
  directory.missing(range, to, out);
  return out;
}

}  // namespace remotecl
