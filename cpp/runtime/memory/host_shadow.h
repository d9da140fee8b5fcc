#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/memory/residency_directory.h"

namespace remotecl {

// A second copy of a piece of the application's memory, as it was when devices last had the same: the difference to it
// is what the application has written, or what devices have. Not synchronised; the memory may change at any time.
class HostShadow {
 public:
  // Throws std::bad_alloc. Takes no memory of its own until it is first used.
  HostShadow(std::byte* memory, std::uint64_t size);

  // Takes over what the application has written in `range`, and gives the ranges in order. Bytes between two that are
  // close to each other count as written, too, where `may_join(gap)`. At the first call the memory becomes the shadow,
  // and nothing has been written.
  std::vector<ByteRange> take_changes(ByteRange range, const std::function<bool(ByteRange)>& may_join);
  // `bytes` is what a device has in `range`: what is new in it gets into the memory, and the rest of the memory, which
  // the application may have written, stays.
  void merge(ByteRange range, const std::byte* bytes);
  // What both had last.
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
