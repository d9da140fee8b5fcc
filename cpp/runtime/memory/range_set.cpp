#include "runtime/memory/range_set.h"

#include <algorithm>

namespace remotecl {

std::vector<ByteRange>::const_iterator RangeSet::first_after(std::uint64_t position) const {
  return std::partition_point(ranges_.begin(), ranges_.end(),
                              [position](const ByteRange& range) { return range.offset + range.size <= position; });
}

void RangeSet::add(ByteRange range) {
  if (range.size == 0) return;
  std::uint64_t begin = range.offset;
  std::uint64_t end = range.offset + range.size;
  // Merges the ranges that overlap or touch the new one.
  const auto first = std::partition_point(
      ranges_.begin(), ranges_.end(), [begin](const ByteRange& other) { return other.offset + other.size < begin; });
  const auto last =
      std::partition_point(first, ranges_.end(), [end](const ByteRange& other) { return other.offset <= end; });
  if (first != last) {
    begin = std::min(begin, first->offset);
    end = std::max(end, std::prev(last)->offset + std::prev(last)->size);
  }
  ranges_.insert(ranges_.erase(first, last), ByteRange{begin, end - begin});
}

}  // namespace remotecl
