#include "runtime/client/upload/upload_link.h"

#include <algorithm>

#include "runtime/base/settings.h"

namespace remotecl {

UploadLink::Policy UploadLink::policy_of_user() {
  static const auto word = settings::one_of("REMOTECL_UPLOADS", {"auto", "off", "always"});
  return word == 1 ? Policy::kOff : word == 2 ? Policy::kAlways : Policy::kAuto;
}

bool UploadLink::is_worthwhile() const {
  if (policy_ == Policy::kOff || is_refused_.load(std::memory_order_relaxed)) return false;
  return policy_ == Policy::kAlways || speed() == Speed::kSlow;
}

UploadLink::Speed UploadLink::speed() const {
  const double link = bytes_per_s_.load(std::memory_order_relaxed);
  if (link * kSlower > hash_bytes_per_s_.load(std::memory_order_relaxed)) return Speed::kFast;
  return is_known_.load(std::memory_order_relaxed) ? Speed::kSlow : Speed::kUnknown;
}

// The newest measurement counts as much as all former ones together: the processor's clock changes.
void UploadLink::hashed(std::uint64_t bytes, std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds <= 0) return;
  const double before = hash_bytes_per_s_.load(std::memory_order_relaxed);
  hash_bytes_per_s_.store((before + static_cast<double>(bytes) / seconds) / 2, std::memory_order_relaxed);
}

void UploadLink::sent(std::uint64_t bytes, double seconds) {
  const MutexLock lock(mutex_);
  bytes_ += bytes;
  seconds_ += seconds;
  if (bytes_ < kBytes && seconds_ < kSeconds) return;
  rates_[count_++ % rates_.size()] = static_cast<double>(bytes_) / std::max(seconds_, kShortest);
  bytes_per_s_.store(*std::ranges::max_element(rates_), std::memory_order_relaxed);
  if (count_ >= rates_.size()) is_known_.store(true, std::memory_order_relaxed);
  bytes_ = 0;
  seconds_ = 0;
}

void UploadLink::answered(bool keeps) {
  if (!keeps) is_refused_.store(true, std::memory_order_relaxed);
}

}  // namespace remotecl
