#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/memory/former_content.h"

namespace remotecl {

// The half-open range [offset, offset + size).
struct ByteRange {
  std::uint64_t offset;
  std::uint64_t size;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

inline bool intersect(const ByteRange& one, const ByteRange& other) {
  return one.offset < other.offset + other.size && other.offset < one.offset + one.size;
}

// The shortest range that has both.
inline ByteRange joined(const ByteRange& one, const ByteRange& other) {
  const std::uint64_t begin = std::min(one.offset, other.offset);
  return {begin, std::max(one.offset + one.size, other.offset + other.size) - begin};
}

inline bool contains(const ByteRange& whole, const ByteRange& part) { return joined(whole, part) == whole; }

// What `whole` has before and after `part`, which intersects it; {0, 0} for nothing.
inline std::pair<ByteRange, ByteRange> around(const ByteRange& whole, const ByteRange& part) {
  const std::uint64_t end = whole.offset + whole.size, part_end = part.offset + part.size;
  ByteRange before{}, after{};
  if (whole.offset < part.offset) before = {whole.offset, part.offset - whole.offset};
  if (part_end < end) after = {part_end, end - part_end};
  return {before, after};
}

// Records who holds the newest bytes of one root buffer, by byte range.
//
// Owned by that buffer on the client. Not synchronised: every call, even a const one, needs the buffer's
// lock.
//
// Content is undefined until it is written; undefined bytes have no holder and are never fetched. Ranges are
// clamped to the buffer, and an empty range changes nothing.
//
// A write may be in doubt: perhaps it does not take place. Then its range keeps what was there before, until
// settle() finds out what has become of it. All else takes it as done.
class ResidencyDirectory {
 public:
  struct HeldRange {
    ByteRange range;
    LocationSet holders;          // the locations that have the newest bytes, never empty
    Ref<FormerContent> former{};  // see Segment

    friend bool operator==(const HeldRange&, const HeldRange&) = default;
  };

  struct Entry {
    ByteRange range;
    LocationSet holders;    // empty: content is undefined
    std::uint64_t version;  // 0: never written

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  explicit ResidencyDirectory(std::uint64_t size);

  std::uint64_t size() const { return size_; }

  // Appends what `to` needs before it may read `range`: the parts that are defined but not there. They are in
  // order; neighbours with the same holders form one transfer.
  void missing(ByteRange range, Location to, std::vector<HeldRange>& out) const;

  // Appends the defined parts of `range` with their holders, likewise.
  void holders(ByteRange range, std::vector<HeldRange>& out) const;

  // Whether every byte has a holder.
  bool defined(ByteRange range) const;

  // Whether nothing is missing.
  bool valid(ByteRange range, Location at) const;

  // Like valid(), but distinguishes a range with undefined bytes: kUndefined if some bytes have no holder.
  enum class Presence { kMissing, kUndefined, kHeld };
  Presence presence(ByteRange range, Location at) const;

  // `at` has the newest bytes of `range`, or will have them before they are read there, which the caller
  // ensures. Undefined parts stay undefined.
  void add_holder(ByteRange range, Location at);

  // `at` writes `range` and becomes its only holder. The range gets one version, newer than any it had. A
  // byte never has the same version with two contents; concurrent writes may share a version and merge.
  void write(ByteRange range, Location at);
  // The same where the outcome may be in doubt: `former_of` says what to keep of a part with these holders and former
  // content. Null: nothing.
  using FormerOf = std::function<Ref<FormerContent>(const LocationSet&, const Ref<FormerContent>&)>;
  void write(ByteRange range, Location at, const FormerOf& former_of);
  // What only `at` holds of `range` it holds perhaps; otherwise it is `former`.
  void doubt(ByteRange range, Location at, const Ref<FormerContent>& former);
  // Whether anything is in doubt, or was until it was written anew.
  bool has_doubts() const { return has_doubts_; }
  // Takes back the writes to parts of `range` that have not taken place, and calls `undone` for each with what it was
  // before.
  void settle(ByteRange range, const std::function<void(ByteRange, const FormerContent&)>& undone);
  // Calls `f` for what is still in doubt in `range`, once for each part.
  template <class F>
  void for_each_doubt(ByteRange range, F&& f) const {
    if (!has_doubts_) [[likely]]
      return;
    const Extent extent = clamp(range);
    for (std::size_t i = find(extent.begin); i < segments_.size() && segments_[i].begin < extent.end; ++i) {
      if (segments_[i].former) f(*segments_[i].former->doubt);
    }
  }
  // Whether any other location holds any of these bytes.
  bool is_held_elsewhere(ByteRange range, Location but) const;

  // The content of `range` becomes undefined, without a holder.
  void forget(ByteRange range);

  // `at` no longer holds the parts of `range` that another location holds too.
  void drop_copy(ByteRange range, Location at);

  // `at` does not hold `range` after all: a transfer to it has failed, and with it all commands that needed
  // it. Bytes that nothing has written or fetched since get their former `holders` back, and `former`.
  void restore(ByteRange range, Location at, const LocationSet& holders, const Ref<FormerContent>& former = {});

  // The whole buffer in order, without gaps; neighbours differ in holders or version.
  std::vector<Entry> entries() const;

 private:
  // Extends to the beginning of the next segment, or to the end of the buffer.
  struct Segment {
    std::uint64_t begin;
    LocationSet holders;
    std::uint64_t version;
    Ref<FormerContent> former{};  // what to return to if the last write does not take place; null: it does
  };
  struct Extent {
    std::uint64_t begin, end;
  };

  // Appends the parts whose segments are accepted.
  template <class Accept>
  void append_parts(ByteRange range, const Accept& accept, std::vector<HeldRange>& out) const;
  Extent clamp(ByteRange range) const;
  std::uint64_t end_of(std::size_t index) const;
  std::size_t find(std::uint64_t offset) const;
  std::size_t split(std::uint64_t offset);
  std::pair<std::size_t, std::size_t> isolate(Extent extent);
  void merge(std::size_t first, std::size_t last);

  std::uint64_t size_;
  bool has_doubts_ = false;
  // Sorted; covers [0, size_) without gaps, and neighbours differ. It is a vector because most buffers have
  // one segment or a few; updating those touches one cache line and allocates nothing.
  std::vector<Segment> segments_;
};

}  // namespace remotecl
