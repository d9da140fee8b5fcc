#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// Whether a traced kernel is so quick that several of its commands had better share a look at the clock: a native
// event, its callback and a report for each cost more than a kernel that does nothing, and a third of a launch on
// NVIDIA's driver, whose launches take 10 to 15 us. Owned by a native kernel, and by what tells of its ends. Any
// thread.
class KernelPace final : public RefCounted {
 public:
  // Of a few kernels of this pace nobody knows how long each one took.
  static constexpr std::uint64_t kQuickNs = 25'000;

  bool is_quick(std::uint64_t work_items) const {
    return trust_.load(std::memory_order_relaxed) >= kEnough &&
           work_items <= most_items_.load(std::memory_order_relaxed);
  }
  // How long one takes, as far as is known.
  std::uint64_t expected_ns() const { return mean_ns_.load(std::memory_order_relaxed); }
  // So many have ended, each after `took_ns` on the average, of up to so many work items; 0: of what was quick before.
  // A driver's thread that has lost its core for a while looks like a slow kernel, which a few quick ones make up for.
  void ended(std::uint64_t took_ns, std::uint64_t work_items, std::uint32_t count) {
    const std::uint32_t trust = trust_.load(std::memory_order_relaxed);
    if (took_ns > kQuickNs) {
      trust_.store(trust - std::min(trust, kSlowCosts), std::memory_order_relaxed);
      if (trust <= kSlowCosts) most_items_.store(0, std::memory_order_relaxed);
      return;
    }
    trust_.store(std::min(trust + count, kTrustMax), std::memory_order_relaxed);
    const std::uint64_t mean = mean_ns_.load(std::memory_order_relaxed);
    mean_ns_.store(mean - mean / 8 + took_ns / 8, std::memory_order_relaxed);
    if (work_items > most_items_.load(std::memory_order_relaxed)) {
      most_items_.store(work_items, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint32_t kEnough = 16;
  static constexpr std::uint32_t kSlowCosts = 32;
  static constexpr std::uint32_t kTrustMax = 256;

  // Two threads that write at once may lose the one or the other's: it is an estimate.
  std::atomic<std::uint32_t> trust_{0};
  std::atomic<std::uint64_t> most_items_{0};  // that was quick
  std::atomic<std::uint64_t> mean_ns_{0};     // of the last dozen or so that were quick
};

}  // namespace remotecl::server
