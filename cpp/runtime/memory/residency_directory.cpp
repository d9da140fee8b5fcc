#include "runtime/memory/residency_directory.h"

#include <algorithm>
#include <utility>

namespace remotecl {
namespace {

// Room for two splits of a single segment, so that the first partial write does not allocate.
constexpr std::size_t kInitialSegments = 4;

// Whether the content is defined but not at the location.
bool lacks(const LocationSet& holders, Location location) { return !holders.contains(location) && !holders.empty(); }

std::uint64_t end_offset(const ByteRange& range) { return range.offset + range.size; }

}  // namespace

ResidencyDirectory::ResidencyDirectory(std::uint64_t size) : size_(size) {
  segments_.reserve(kInitialSegments);
  if (size != 0) segments_.push_back({0, {}, 0});
}

template <class Accept>
void ResidencyDirectory::append_parts(ByteRange range, const Accept& accept, std::vector<HeldRange>& out) const {
  const Extent extent = clamp(range);
  const std::size_t already_there = out.size();
  for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
    const Segment& segment = segments_[i];
    if (!accept(segment)) continue;
    const std::uint64_t begin = std::max(segment.begin, extent.begin);
    const std::uint64_t end = std::min(end_of(i), extent.end);
    // Neighbours may differ in version only, which does not matter to a transfer.
    const bool joins = out.size() > already_there && out.back().holders == segment.holders &&
                       out.back().former == segment.former && end_offset(out.back().range) == begin;
    if (joins) {
      out.back().range.size += end - begin;
    } else {
      out.push_back({{begin, end - begin}, segment.holders, segment.former});
    }
  }
}

void ResidencyDirectory::missing(ByteRange range, Location to, std::vector<HeldRange>& out) const {
  append_parts(
      range, [to](const Segment& segment) { return lacks(segment.holders, to); }, out);
}

void ResidencyDirectory::holders(ByteRange range, std::vector<HeldRange>& out) const {
  append_parts(
      range, [](const Segment& segment) { return !segment.holders.empty(); }, out);
}

bool ResidencyDirectory::defined(ByteRange range) const {
  const Extent extent = clamp(range);
  for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
    if (segments_[i].holders.empty()) return false;
  }
  return true;
}

bool ResidencyDirectory::valid(ByteRange range, Location at) const {
  const Extent extent = clamp(range);
  for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
    if (lacks(segments_[i].holders, at)) return false;
  }
  return true;
}

ResidencyDirectory::Presence ResidencyDirectory::presence(ByteRange range, Location at) const {
  const Extent extent = clamp(range);
  Presence presence = Presence::kHeld;
  for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
    if (lacks(segments_[i].holders, at)) return Presence::kMissing;
    if (segments_[i].holders.empty()) presence = Presence::kUndefined;
  }
  return presence;
}

void ResidencyDirectory::add_holder(ByteRange range, Location at) {
  if (valid(range, at)) return;  // the usual case of a second reader: avoids splitting and merging back
  const auto [first, last] = isolate(clamp(range));
  for (std::size_t i = first; i < last; ++i) {
    if (!segments_[i].holders.empty()) segments_[i].holders.add(at);
  }
  merge(first, last);
}

void ResidencyDirectory::write(ByteRange range, Location at) {
  const auto [first, last] = isolate(clamp(range));
  if (first == last) return;
  std::uint64_t version = 0;
  for (std::size_t i = first; i < last; ++i) version = std::max(version, segments_[i].version);
  segments_[first].holders = {at};
  segments_[first].version = version + 1;
  segments_[first].former = nullptr;
  const auto begin = segments_.begin();
  segments_.erase(begin + static_cast<std::ptrdiff_t>(first) + 1, begin + static_cast<std::ptrdiff_t>(last));
  merge(first, first + 1);
}

void ResidencyDirectory::write(ByteRange range, Location at, const FormerOf& former_of) {
  const auto [first, last] = isolate(clamp(range));
  std::uint64_t version = 0;
  for (std::size_t i = first; i < last; ++i) version = std::max(version, segments_[i].version);
  for (std::size_t i = first; i < last; ++i) {
    Segment& segment = segments_[i];
    segment.former = former_of(segment.holders, segment.former);
    segment.holders = {at};
    segment.version = version + 1;
    has_doubts_ = has_doubts_ || segment.former;
  }
  merge(first, last);
}

void ResidencyDirectory::doubt(ByteRange range, Location at, const Ref<FormerContent>& former) {
  const auto [first, last] = isolate(clamp(range));
  for (std::size_t i = first; i < last; ++i) {
    Segment& segment = segments_[i];
    if (!segment.holders.is_only(at)) continue;
    segment.former = former;
    has_doubts_ = true;
  }
  merge(first, last);
}

void ResidencyDirectory::settle(ByteRange range, const std::function<void(ByteRange, const FormerContent&)>& undone) {
  const Extent extent = clamp(range);
  const std::size_t first = find(extent.begin);
  std::size_t last = first;
  bool has_changed = false;
  for (; last < segments_.size() && segments_[last].begin < extent.end; ++last) {
    Segment& segment = segments_[last];
    while (segment.former) {
      const Doubt::Outcome outcome = segment.former->doubt->outcome();
      if (outcome == Doubt::Outcome::kOpen) break;
      has_changed = true;
      const Ref<FormerContent> former = std::move(segment.former);
      if (outcome == Doubt::Outcome::kTakesPlace) break;
      undone({segment.begin, end_of(last) - segment.begin}, *former);
      segment.holders = former->holders;
      ++segment.version;
      segment.former = former->former;
    }
  }
  if (!has_changed) return;
  merge(first, last);
  has_doubts_ =
      std::ranges::any_of(segments_, [](const Segment& segment) { return static_cast<bool>(segment.former); });
}

bool ResidencyDirectory::is_held_elsewhere(ByteRange range, Location but) const {
  const Extent extent = clamp(range);
  for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
    if (segments_[i].holders.contains_other_than(but)) return true;
  }
  return false;
}

void ResidencyDirectory::forget(ByteRange range) {
  const auto [first, last] = isolate(clamp(range));
  for (std::size_t i = first; i < last; ++i) {
    segments_[i].holders.clear();
    ++segments_[i].version;
    segments_[i].former = nullptr;
  }
  merge(first, last);
}

void ResidencyDirectory::drop_copy(ByteRange range, Location at) {
  const auto [first, last] = isolate(clamp(range));
  for (std::size_t i = first; i < last; ++i) {
    if (segments_[i].holders.contains_other_than(at)) segments_[i].holders.remove(at);
  }
  merge(first, last);
}

void ResidencyDirectory::restore(ByteRange range, Location at, const LocationSet& holders,
                                 const Ref<FormerContent>& former) {
  const auto [first, last] = isolate(clamp(range));
  for (std::size_t i = first; i < last; ++i) {
    Segment& segment = segments_[i];
    if (!segment.holders.contains(at)) continue;
    segment.holders.remove(at);
    if (!segment.holders.empty()) continue;
    segment.holders = holders;
    segment.former = former;
  }
  merge(first, last);
}

std::vector<ResidencyDirectory::Entry> ResidencyDirectory::entries() const {
  std::vector<Entry> result;
  result.reserve(segments_.size());
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    const std::uint64_t size = end_of(i) - segment.begin;
    const bool joins =
        !result.empty() && result.back().holders == segment.holders && result.back().version == segment.version;
    if (joins) {  // they differ in what was there before
      result.back().range.size += size;
    } else {
      result.push_back({{segment.begin, size}, segment.holders, segment.version});
    }
  }
  return result;
}

// An empty result is always {size, size}, so that no caller needs a special case.
ResidencyDirectory::Extent ResidencyDirectory::clamp(ByteRange range) const {
  if (range.offset >= size_ || range.size == 0) return {size_, size_};
  return {range.offset, range.offset + std::min(range.size, size_ - range.offset)};
}

std::uint64_t ResidencyDirectory::end_of(std::size_t index) const {
  return index + 1 < segments_.size() ? segments_[index + 1].begin : size_;
}

// The segment that contains `offset`; the number of segments for the end of the buffer.
std::size_t ResidencyDirectory::find(std::uint64_t offset) const {
  if (offset >= size_) return segments_.size();
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), offset,
                       [](std::uint64_t value, const Segment& segment) { return value < segment.begin; });
  return static_cast<std::size_t>(after - segments_.begin()) - 1;
}

// Makes a segment begin at `offset` and returns its index.
std::size_t ResidencyDirectory::split(std::uint64_t offset) {
  const std::size_t index = find(offset);
  if (index == segments_.size() || segments_[index].begin == offset) return index;
  Segment rest = segments_[index];
  rest.begin = offset;
  segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(index) + 1, rest);
  return index + 1;
}

// Splits such that the segments [first, last) are exactly `extent`.
std::pair<std::size_t, std::size_t> ResidencyDirectory::isolate(Extent extent) {
  const std::size_t first = split(extent.begin);
  const std::size_t last = split(extent.end);  // behind the first split, so the first index stays valid
  return {first, last};
}

// Joins equal neighbours among the changed segments [first, last) and the ones on either side of them.
void ResidencyDirectory::merge(std::size_t first, std::size_t last) {
  const std::size_t begin = first == 0 ? 0 : first - 1;
  const std::size_t end = std::min(last + 1, segments_.size());
  std::size_t kept = begin;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const Segment &one = segments_[kept], &next = segments_[i];
    const bool equal = one.holders == next.holders && one.version == next.version && one.former == next.former;
    if (!equal && ++kept != i) segments_[kept] = std::move(segments_[i]);
  }
  if (kept + 1 >= end) return;
  const auto base = segments_.begin();
  segments_.erase(base + static_cast<std::ptrdiff_t>(kept) + 1, base + static_cast<std::ptrdiff_t>(end));
}

}  // namespace remotecl
