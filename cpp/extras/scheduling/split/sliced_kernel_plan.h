#pragma once

#include <algorithm>
#include <span>

#include "extras/scheduling/split/slice.h"
#include "runtime/client/commands/device_plans.h"

namespace remotecl {

// A kernel's launch on part of its range, which uses only the slices of that part.
struct SlicedKernelPlan : KernelPlan {
  std::span<const Slice> slices;
  std::uint64_t begin, end;  // of the part, in items of the divided dimension

  // Of the object's bytes; may be empty.
  ByteRange part(const Slice& slice, const MemoryObject& memory) const {
    const std::uint64_t size = memory.size();
    const std::uint64_t first = begin - std::min(begin, slice.before);
    const std::uint64_t last = end + std::min(slice.after, ~std::uint64_t{0} - end);
    const auto bytes = [&](std::uint64_t items) {
      return items > size / slice.item_bytes ? size : items * slice.item_bytes;
    };
    return memory.range(bytes(first), bytes(last) - bytes(first));
  }

  void uses(auto& uses) const REQUIRES(kMemoryMutex, kernel.mutex()) {
    const auto& arguments = kernel.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      MemoryObject* const memory = arguments[i].memory.get();
      if (memory == nullptr) continue;
      const auto slice =
          std::find_if(slices.begin(), slices.end(), [i](const Slice& one) { return one.argument == i; });
      if (slice == slices.end()) {
        uses.reads(*memory, memory->range(0, memory->size()));
        continue;
      }
      const ByteRange bytes = part(*slice, *memory);
      if (bytes.size == 0) continue;
      if (!slice->overwrites) uses.reads(*memory, bytes);
      if (kernel.may_write(i)) uses.writes(*memory, bytes);
    }
  }
};

}  // namespace remotecl
