#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/protocol/sizes.h"

namespace remotecl {

// Decides which waiting bulk transfers may pass a larger one between two of its chunks. Pure; one for each larger one.
class PassingRule {
 public:
  // The largest transfer that may pass. It fits into small pieces of staging memory, and what waits meanwhile waits no
  // longer than for this.
  static constexpr std::uint64_t kSizeMax = kStagingSlots * kStagingSmallPiece;
  // What passes is so many times smaller than what is left of the larger one.
  static constexpr std::uint64_t kFarSmaller = 8;

  // A chunk of the larger one has been sent, so as many bytes may pass. Bytes beyond that count against the next
  // chunks, so the larger one has at least half of the link.
  void sent(std::uint64_t size) { credit_ = std::min<std::int64_t>(credit_, 0) + static_cast<std::int64_t>(size); }
  // `left`: of the larger one.
  bool may_pass(std::uint64_t size, std::uint64_t left) const {
    return may_any_pass(left) && size <= kSizeMax && size <= left / kFarSmaller;
  }
  // False: looking for one is in vain.
  bool may_any_pass(std::uint64_t left) const { return credit_ > 0 && left > kFarSmaller * kInlineDataMax; }
  void passed(std::uint64_t size) { credit_ -= static_cast<std::int64_t>(size); }

 private:
  std::int64_t credit_ = 0;
};

}  // namespace remotecl
