#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "runtime/client/objects/mapping.h"

namespace remotecl {

// The mappings of all objects that share a storage. Finding one costs the same however many there are. Not
// synchronised.
class Mappings {
 public:
  void add(Mapping mapping);
  // Finds or removes the newest one of the object that `link` belongs to that begins at `pointer`; returns false if
  // there is none.
  bool find(const std::byte* pointer, const MemoryLink& link, Mapping& found) const;
  bool remove(const std::byte* pointer, const MemoryLink& link);
  // Whether any of these bytes, which are at `pointer` in the host's copy, is mapped.
  bool has(ByteRange range, const std::byte* pointer) const;
  bool empty() const { return mappings_.empty(); }

 private:
  using Key = std::pair<const std::byte*, const void*>;  // where it begins, and its object's link
  using Position = std::multimap<Key, Mapping>::const_iterator;

  Position newest(const std::byte* pointer, const MemoryLink& link) const;

  std::multimap<Key, Mapping> mappings_;
  std::uint64_t size_max_ = 0;  // of ranges, since there was none
  std::size_t sweep_at_ = 64;   // when there are so many, those of destroyed objects are dropped
};

}  // namespace remotecl
