#include "runtime/client/upload/upload_link.h"

#include "runtime/base/settings.h"

namespace remotecl {
namespace {

// The newest measurement counts as much as all former ones together: links change.
void update(std::atomic<double>& rate, std::uint64_t bytes, UploadLink::Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds <= 0) return;
  const double now = static_cast<double>(bytes) / seconds, before = rate.load(std::memory_order_relaxed);
  rate.store(before == 0 ? now : (before + now) / 2, std::memory_order_relaxed);
}

}  // namespace

UploadLink::Policy UploadLink::policy_of_user() {
  static const auto word = settings::one_of("REMOTECL_UPLOADS", {"auto", "off", "always"});
  return word == 1 ? Policy::kOff : word == 2 ? Policy::kAlways : Policy::kAuto;
}

bool UploadLink::may_begin(bool is_measurable) {
  if (policy_ != Policy::kAuto || is_refused_.load(std::memory_order_relaxed)) return is_worthwhile();
  if (!is_measurable) return false;
  if (!is_fast() && !is_hopeless()) return true;
  if (skipped_.fetch_add(1, std::memory_order_relaxed) % kRetryEvery != kRetryEvery - 1) return false;
  bytes_per_s_.store(0, std::memory_order_relaxed);
  return true;
}

bool UploadLink::is_worthwhile() const {
  if (policy_ == Policy::kOff || is_refused_.load(std::memory_order_relaxed)) return false;
  return policy_ == Policy::kAlways || !is_fast();
}

bool UploadLink::is_hopeless() const {
  return missed_.load(std::memory_order_relaxed) >= kHopeless && (is_unknown() || is_above(kMuchSlower));
}

bool UploadLink::is_above(double part) const {
  const double hashing = hash_bytes_per_s_.load(std::memory_order_relaxed);
  return hashing != 0 && bytes_per_s_.load(std::memory_order_relaxed) * part > hashing;
}

void UploadLink::hashed(std::uint64_t bytes, Clock::duration time) { update(hash_bytes_per_s_, bytes, time); }

void UploadLink::sent(std::uint64_t bytes, Clock::duration time) { update(bytes_per_s_, bytes, time); }

void UploadLink::answered(std::uint64_t found, std::uint64_t missing, bool keeps) {
  if (!keeps) is_refused_.store(true, std::memory_order_relaxed);
  if (found != 0) missed_.store(0, std::memory_order_relaxed);
  missed_.fetch_add(missing, std::memory_order_relaxed);
}

}  // namespace remotecl
