#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// How much memory of each device somebody has, and may have: a session, as a part of what its user may have. Owned by
// those and by what counts in it; any thread.
class MemoryQuota final : public RefCounted {
 public:
  // `whole`: what this is a part of; null: nothing.
  MemoryQuota(std::size_t devices, std::optional<std::uint64_t> limit, Ref<MemoryQuota> whole)
      : limit_(limit.value_or(UINT64_MAX)), whole_(std::move(whole)), used_(devices) {}

  // False when it would be more than the limit, or the whole's.
  bool reserve(std::uint32_t device, std::uint64_t size) {
    std::uint64_t before = used_[device].load(std::memory_order_relaxed);
    do {
      if (size > limit_ || before > limit_ - size) return false;
    } while (!used_[device].compare_exchange_weak(before, before + size, std::memory_order_relaxed));
    if (!whole_ || whole_->reserve(device, size)) return true;
    used_[device].fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  void give_back(std::uint32_t device, std::uint64_t size) {
    used_[device].fetch_sub(size, std::memory_order_relaxed);
    if (whole_) whole_->give_back(device, size);
  }
  std::uint64_t used(std::size_t device) const { return used_[device].load(std::memory_order_relaxed); }
  std::size_t devices() const { return used_.size(); }

 private:
  const std::uint64_t limit_;
  const Ref<MemoryQuota> whole_;
  std::vector<std::atomic<std::uint64_t>> used_;
};

}  // namespace remotecl::server
