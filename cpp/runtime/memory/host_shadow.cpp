#include "runtime/memory/host_shadow.h"

#include <algorithm>
#include <cstring>

namespace remotecl {
namespace {

// The block that memcmp() compares at once; that is several times faster than searching for the first
// difference.
constexpr std::uint64_t kBlock = 4096;
// One more message costs more than sending a gap of this size.
constexpr std::uint64_t kGap = 256;
// Many scattered changes cost more than the bytes between them.
constexpr std::size_t kManyChanges = 1024;
constexpr std::uint64_t kWideGap = 64u << 10;

// Calls f(begin, end) for each run of bytes in which the two differ.
template <class F>
void for_each_difference(const std::byte* one, const std::byte* other, std::uint64_t size, F&& f) {
  for (std::uint64_t block = 0; block < size; block += kBlock) {
    const std::uint64_t end = std::min(block + kBlock, size);
    if (std::memcmp(one + block, other + block, end - block) == 0) continue;
    for (std::uint64_t at = block; at < end;) {
      const auto [begin, unused] = std::mismatch(one + at, one + end, other + at);
      if (begin == one + end) break;
      at = static_cast<std::uint64_t>(begin - one);
      std::uint64_t last = at;
      while (last < end && one[last] != other[last]) ++last;
      if (last > at) f(at, last);
      at = std::max(last, at + 1);  // the bytes may have become equal meanwhile
    }
  }
}

}  // namespace

HostShadow::HostShadow(std::byte* memory, std::uint64_t size)
    : memory_(memory), size_(size), shadow_(new std::byte[size]) {}

std::vector<ByteRange> HostShadow::take_changes(ByteRange range, const std::function<bool(ByteRange)>& may_join) {
  std::vector<ByteRange> changes;
  if (!is_filled_) {
    take({0, size_});
    return changes;
  }
  for_each_difference(shadow_.get() + range.offset, memory_ + range.offset, range.size,
                      [&](std::uint64_t begin, std::uint64_t end) {
                        add_change(changes, {range.offset + begin, end - begin}, may_join);
                      });
  for (const ByteRange& change : changes) take(change);
  return changes;
}

void HostShadow::add_change(std::vector<ByteRange>& changes, ByteRange change,
                            const std::function<bool(ByteRange)>& may_join) const {
  if (!changes.empty()) {
    ByteRange& last = changes.back();
    const std::uint64_t end = last.offset + last.size;
    const ByteRange gap{end, change.offset - end};
    const std::uint64_t widest = changes.size() < kManyChanges ? kGap : kWideGap;
    if (gap.size == 0 || (gap.size <= widest && may_join(gap))) {
      last.size = change.offset + change.size - last.offset;
      return;
    }
  }
  changes.push_back(change);
}

void HostShadow::merge(ByteRange range, const std::byte* bytes) {
  if (!is_filled_) take({0, size_});
  for_each_difference(shadow_.get() + range.offset, bytes, range.size, [&](std::uint64_t begin, std::uint64_t end) {
    std::memcpy(memory_ + range.offset + begin, bytes + begin, end - begin);
    std::memcpy(shadow_.get() + range.offset + begin, bytes + begin, end - begin);
  });
}

void HostShadow::copy(ByteRange range, std::byte* to) const {
  std::memcpy(to, (is_filled_ ? shadow_.get() : memory_) + range.offset, range.size);
}

void HostShadow::take(ByteRange range) {
  if (!is_filled_) range = {0, size_};
  is_filled_ = true;
  std::memcpy(shadow_.get() + range.offset, memory_ + range.offset, range.size);
}

}  // namespace remotecl
