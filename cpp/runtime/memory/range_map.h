#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// Values for ranges of a buffer's bytes, which are disjoint and not empty. A value names its own in `range`. What is
// done for a range costs the same however many values other ranges have. One thread.
template <class Value>
class RangeMap {
 public:
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }

  // No other value has bytes of its range.
  void add(Value value) {
    const std::uint64_t begin = value.range.offset;
    values_.emplace(begin, std::move(value));
  }
  // Calls f(value) for each that has bytes of the range, in order.
  template <class F>
  void for_each(ByteRange range, F&& f) {
    for (auto at = first_in(range); at != values_.end() && at->first < end_of(range); ++at) f(at->second);
  }
  template <class F>
  void for_each(ByteRange range, F&& f) const {
    for (auto at = first_in(range); at != values_.end() && at->first < end_of(range); ++at) f(at->second);
  }
  // The first that has bytes of the range; null: none has.
  const Value* find(ByteRange range) const {
    const auto at = first_in(range);
    return at != values_.end() && at->first < end_of(range) ? &at->second : nullptr;
  }
  // Removes those that have bytes of the range and for which f(value) is true.
  template <class F>
  void erase_if(ByteRange range, F&& f) {
    for (auto at = first_in(range); at != values_.end() && at->first < end_of(range);) {
      at = f(at->second) ? values_.erase(at) : std::next(at);
    }
  }
  // Takes the bytes away from values for which condition(value) is true. Calls gone(value) with each that had no
  // others.
  template <class Condition, class Gone>
  void take(ByteRange range, const Condition& condition, Gone&& gone) {
    for (auto at = first_in(range); at != values_.end() && at->first < end_of(range);) {
      if (!condition(at->second)) {
        ++at;
        continue;
      }
      const auto [before, after] = around(at->second.range, range);
      if (before.size == 0 && after.size == 0) gone(std::move(at->second));
      if (after.size != 0) {
        Value rest = at->second;
        rest.range = after;
        values_.emplace_hint(std::next(at), after.offset, std::move(rest));
      }
      at->second.range = before;
      at = before.size == 0 ? values_.erase(at) : std::next(at);
    }
  }

 private:
  using Values = std::map<std::uint64_t, Value>;

  static std::uint64_t end_of(ByteRange range) { return range.offset + range.size; }
  template <class Map>
  static auto first_in(Map& values, ByteRange range) {
    const auto next = values.upper_bound(range.offset);
    if (next == values.begin()) return next;
    const auto before = std::prev(next);
    return end_of(before->second.range) > range.offset ? before : next;
  }
  auto first_in(ByteRange range) { return first_in(values_, range); }
  auto first_in(ByteRange range) const { return first_in(values_, range); }

  Values values_;  // by their beginnings
};

}  // namespace remotecl
