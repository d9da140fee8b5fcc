#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/base/mutex.h"

namespace remotecl {

// Decides by earlier uploads to one server whether to offer: to ask first whether the server has the bytes already. A
// link is taken for a fast one until it was measured. Any thread.
class UploadLink {
 public:
  enum class Policy { kAuto, kOff, kAlways };
  enum class Speed { kUnknown, kFast, kSlow };  // compared with hashing

  // REMOTECL_UPLOADS
  static Policy policy_of_user();

  explicit UploadLink(Policy policy = policy_of_user()) : policy_(policy) {}

  // Whether a large write should go in steps, between which the link is measured, and chunks may be offered.
  // `is_measurable`: the transport measures the link.
  bool may_begin(bool is_measurable) const { return policy_ == Policy::kAlways || is_measurable; }
  // Whether chunks should be offered now.
  bool is_worthwhile() const;
  // Whether a chunk that was offered must not be sent before the answer.
  bool always_awaits() const { return policy_ == Policy::kAlways; }
  Speed speed() const;
  std::uint64_t bytes_per_s() const { return static_cast<std::uint64_t>(bytes_per_s_.load(std::memory_order_relaxed)); }

  void hashed(std::uint64_t bytes, std::chrono::nanoseconds time);
  // So many bytes of large writes have been acknowledged, and some were on their way for so long.
  void sent(std::uint64_t bytes, double seconds) EXCLUDES(mutex_);
  // The server has answered. `keeps`: it keeps uploads at all.
  void answered(bool keeps);

 private:
  // The thread that sends also hashes, while the socket empties. So hashing may take it at most a quarter of the time
  // that sending takes.
  static constexpr double kSlower = 4;
  // No processor hashes faster, so links that are much faster are never hashed for.
  static constexpr double kHashingMax = 2e9;
  // A measurement needs so many seconds, because the system counts in steps of up to 10 ms, or so many bytes.
  static constexpr double kSeconds = 0.03, kShortest = 1e-3;
  static constexpr std::uint64_t kBytes = 16u << 20;

  const Policy policy_;
  std::atomic<bool> is_refused_{false};
  std::atomic<double> hash_bytes_per_s_{kHashingMax}, bytes_per_s_{0};
  std::atomic<bool> is_known_{false};

  Mutex mutex_;
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;  // of the present measurement
  double seconds_ GUARDED_BY(mutex_) = 0;
  // The newest measurements. The fastest counts, because a process that does not get a processor sees a slow link.
  std::array<double, 3> rates_ GUARDED_BY(mutex_){};
  std::size_t count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl
