#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "server/quota/allowance.h"
#include "server/quota/counters.h"

namespace remotecl::server {

// The most memory that a session or a user may have, and the most sockets of kernels.
struct MemoryLimits {
  std::uint64_t device = UINT64_MAX;  // on each device
  std::uint64_t host = UINT64_MAX;
  std::uint64_t sockets = UINT64_MAX;

  // Of a counter of MemoryQuota.
  std::uint64_t of(std::size_t counter, std::size_t devices) const {
    return counter < devices ? device : counter == devices ? host : sockets;
  }
};

// Counts and bounds the memory that a session or a user has: on each device, and on the host for what
// messages leave behind; and its kernels' sockets. A session's quota is a part of its user's. Owned by the session or
// user and by what counts in it; any thread.
class MemoryQuota final : public RefCounted {
 public:
  // `used`: a counter for each device, one for the host and one for sockets, at the front. `whole`: the quota that this
  // one is a part of, or null.
  // `allowance`: in the process of a session, what the daemon lets it take of the whole, which has no counts there;
  // else null.
  MemoryQuota(std::size_t devices, Ref<Counters> used, const MemoryLimits& limits, Ref<MemoryQuota> whole,
              Ref<Allowance> allowance = nullptr)
      : devices_(devices),
        used_(std::move(used)),
        limits_(limits),
        whole_(std::move(whole)),
        allowance_(std::move(allowance)) {}
  static std::size_t counters(std::size_t devices) { return devices + 2; }

  // `counter`: a device's index, host() or sockets(). Returns false if this limit or that of the whole would be
  // exceeded; with `spares_some`, if seven eighths of them would be.
  bool reserve(std::size_t counter, std::uint64_t size, bool spares_some = false) {
    const std::uint64_t whole = limits_.of(counter, devices_);
    const std::uint64_t limit = spares_some ? whole - whole / 8 : whole;
    if (allowance_) {
      if (add(counter, size, std::min(limit, allowance_->allowed(counter)))) {
        if (allowance_->covers(counter)) return true;
        (*used_)[counter].fetch_sub(size);
      }
      return allowance_->claim(counter, size, limit, spares_some);
    }
    if (!add(counter, size, limit)) return false;
    if (!whole_ || whole_->reserve(counter, size, spares_some)) return true;
    (*used_)[counter].fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  void give_back(std::size_t counter, std::uint64_t size) {
    (*used_)[counter].fetch_sub(size, std::memory_order_relaxed);
    if (whole_ && !allowance_) whole_->give_back(counter, size);
  }
  std::uint64_t used(std::size_t counter) const { return (*used_)[counter].load(std::memory_order_relaxed); }
  std::size_t devices() const { return devices_; }
  std::size_t host() const { return devices_; }  // the index of the host's counter
  std::size_t sockets() const { return devices_ + 1; }
  const MemoryLimits& limits() const { return limits_; }
  const Ref<MemoryQuota>& whole() const { return whole_; }

 private:
  bool add(std::size_t counter, std::uint64_t size, std::uint64_t limit) {
    std::atomic<std::uint64_t>& used = (*used_)[counter];
    std::uint64_t before = used.load(std::memory_order_relaxed);
    do {
      if (size > limit || before > limit - size) return false;
    } while (!used.compare_exchange_weak(before, before + size));
    return true;
  }

  const std::size_t devices_;
  const Ref<Counters> used_;
  const MemoryLimits limits_;
  const Ref<MemoryQuota> whole_;
  const Ref<Allowance> allowance_;
};

}  // namespace remotecl::server
