#pragma once

#include <vector>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// A set of byte ranges of a buffer. A value; one thread.
class RangeSet {
 public:
  void add(ByteRange range);
  // Calls f(part) for each part of `range` that is not in the set, in order.
  template <class F>
  void for_each_missing(ByteRange range, F&& f) const {
    std::uint64_t at = range.offset;
    const std::uint64_t end = range.offset + range.size;
    for (auto next = first_after(at); next != ranges_.end() && next->offset < end; ++next) {
      if (next->offset > at) f(ByteRange{at, next->offset - at});
      at = next->offset + next->size;
    }
    if (at < end) f(ByteRange{at, end - at});
  }
  // In order; no two touch.
  const std::vector<ByteRange>& ranges() const { return ranges_; }

 private:
  // The first range that ends after `position`.
  std::vector<ByteRange>::const_iterator first_after(std::uint64_t position) const;

  std::vector<ByteRange> ranges_;
};

}  // namespace remotecl
