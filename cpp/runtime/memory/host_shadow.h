#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// A second copy of a piece of the application's memory, taken when memory and devices last agreed. The
// difference from it shows what the application or a device has written since. Not synchronised; the memory
// may change at any time.
class HostShadow {
 public:
  // Throws std::bad_alloc. Occupies no memory until it is first used.
  HostShadow(std::byte* memory, std::uint64_t size);

  // Copies what the application has written in `range` into the shadow, and returns the changed ranges in
  // order. Joins neighbouring changes if the gap is small and `may_join(gap)`. The first call only fills the
  // shadow from the memory, so nothing counts as written.
  std::vector<ByteRange> take_changes(ByteRange range, const std::function<bool(ByteRange)>& may_join);
  // `bytes` is what a device has in `range`. Copies what the device has changed into the memory; leaves the
  // rest, which the application may have written.
  void merge(ByteRange range, const std::byte* bytes);
  // Copies the bytes on which both last agreed.
  void copy(ByteRange range, std::byte* to) const;
  // The memory is what devices have, or will have.
  void take(ByteRange range);

 private:
  void add_change(std::vector<ByteRange>& changes, ByteRange change,
                  const std::function<bool(ByteRange)>& may_join) const;

  std::byte* const memory_;
  const std::uint64_t size_;
  const std::unique_ptr<std::byte[]> shadow_;
  bool is_filled_ = false;
};

}  // namespace remotecl
