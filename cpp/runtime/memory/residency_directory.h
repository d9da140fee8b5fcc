#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace remotecl {

// Half open: [offset, offset + size).
struct ByteRange {
  std::uint64_t offset;
  std::uint64_t size;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

inline bool intersect(const ByteRange& one, const ByteRange& other) {
  return one.offset < other.offset + other.size && other.offset < one.offset + one.size;
}

// 0 is the host; the devices of a context are 1 to kLocationMax.
using Location = std::uint32_t;
inline constexpr Location kHost = 0;
inline constexpr Location kLocationMax = 63;

// Who holds the newest bytes of one root buffer, per byte range.
//
// Owned by that buffer on the client. Not synchronised: every call, const ones too, needs the buffer's lock.
//
// Content is undefined until it is written; undefined bytes have no holder and are never fetched. Ranges are
// clamped to the buffer, and an empty range changes nothing.
//
// REQUIRES of every Location: at most kLocationMax.
class ResidencyDirectory {
 public:
  struct Transfer {
    ByteRange range;
    std::uint64_t holders;  // bit mask of the locations that have the newest bytes, never 0

    friend bool operator==(const Transfer&, const Transfer&) = default;
  };

  struct Entry {
    ByteRange range;
    std::uint64_t holders;  // 0: content is undefined
    std::uint64_t version;  // 0: never written

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  explicit ResidencyDirectory(std::uint64_t size);

  std::uint64_t size() const { return size_; }

  // Appends what must be brought to `to` before it may read `range`: the parts whose content is defined and
  // not there. In order; neighbours with the same holders are one transfer.
  void missing(ByteRange range, Location to, std::vector<Transfer>& out) const;

  // True when somebody holds each of the bytes.
  bool defined(ByteRange range) const;

  // True when nothing is missing.
  bool valid(ByteRange range, Location at) const;

  // As valid(), and says whether there is anything: kUndefined when nobody holds some of the bytes.
  enum class Presence { kMissing, kUndefined, kHeld };
  Presence presence(ByteRange range, Location at) const;

  // `at` has the newest bytes of `range`, or will have them before anybody reads them there (the caller
  // orders that). Undefined parts stay undefined: there is nothing to have.
  void add_holder(ByteRange range, Location at);

  // `at` writes `range` and becomes its only holder. The range gets one version, newer than any it had: a
  // byte never has the same version with two contents, while writes side by side may share one and merge.
  void write(ByteRange range, Location at);

  // The content of `range` is undefined from now on: nobody holds it.
  void forget(ByteRange range);

  // `at` no longer holds `range`. What nobody else holds becomes undefined; if it was defined before, it is
  // lost, and appended to `lost` in order and merged.
  void drop_holder(ByteRange range, Location at, std::vector<ByteRange>* lost = nullptr);

  // The same, but only where somebody else holds the bytes, too.
  void drop_copy(ByteRange range, Location at);

  // `at` does not hold `range` after all: a transfer there has failed, and with it all commands that counted on it.
  // What nobody else has written or fetched since is again where it was before, with `holders`.
  void restore(ByteRange range, Location at, std::uint64_t holders);

  // The whole buffer in order, with no gap; no two neighbours are equal in holders and version.
  std::vector<Entry> entries() const;

 private:
  // Reaches to the begin of the next segment, the last one to the end of the buffer.
  struct Segment {
    std::uint64_t begin;
    std::uint64_t holders;
    std::uint64_t version;
  };
  struct Extent {
    std::uint64_t begin, end;
  };

  Extent clamp(ByteRange range) const;
  std::uint64_t end_of(std::size_t index) const;
  std::size_t find(std::uint64_t offset) const;
  std::size_t split(std::uint64_t offset);
  std::pair<std::size_t, std::size_t> isolate(Extent extent);
  void merge(std::size_t first, std::size_t last);

  std::uint64_t size_;
  // Sorted; covers [0, size_) with no gap, and neighbours differ. A vector, because nearly all buffers are
  // one segment or a few; for those an update touches one cache line and allocates nothing.
  std::vector<Segment> segments_;
};

}  // namespace remotecl
