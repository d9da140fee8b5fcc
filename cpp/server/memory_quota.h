#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "server/counters.h"

namespace remotecl::server {

// How much memory of each device somebody has, and may have: a session, as a part of what its user may have. Owned by
// those and by what counts in it; any thread.
class MemoryQuota final : public RefCounted {
 public:
  // `used`: counts for each device, the first of its numbers. `whole`: what this is a part of; null: nothing.
  MemoryQuota(std::size_t devices, Ref<Counters> used, std::optional<std::uint64_t> limit, Ref<MemoryQuota> whole)
      : devices_(devices), used_(std::move(used)), limit_(limit.value_or(UINT64_MAX)), whole_(std::move(whole)) {}

  // False when it would be more than the limit, or the whole's.
  bool reserve(std::uint32_t device, std::uint64_t size) {
    std::atomic<std::uint64_t>& used = (*used_)[device];
    std::uint64_t before = used.load(std::memory_order_relaxed);
    do {
      if (size > limit_ || before > limit_ - size) return false;
    } while (!used.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
    if (!whole_ || whole_->reserve(device, size)) return true;
    used.fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  void give_back(std::uint32_t device, std::uint64_t size) {
    (*used_)[device].fetch_sub(size, std::memory_order_relaxed);
    if (whole_) whole_->give_back(device, size);
  }
  // Whoever counted here is gone, and with it all that it had.
  void give_back_all() {
    for (std::uint32_t device = 0; device < devices_; ++device) give_back(device, used(device));
  }
  std::uint64_t used(std::size_t device) const { return (*used_)[device].load(std::memory_order_relaxed); }
  std::size_t devices() const { return devices_; }
  const Counters& counters() const { return *used_; }

 private:
  const std::size_t devices_;
  const Ref<Counters> used_;
  const std::uint64_t limit_;
  const Ref<MemoryQuota> whole_;
};

}  // namespace remotecl::server
