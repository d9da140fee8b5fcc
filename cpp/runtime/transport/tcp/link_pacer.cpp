#include "runtime/transport/tcp/link_pacer.h"

#include <algorithm>

namespace remotecl {

std::optional<double> LinkPacer::update(const Sample& sample) {
  if (sample.delivered > 0) delivered_[samples_++ % delivered_.size()] = sample.delivered;
  const Duration queue = sample.round_trip - sample.least_round_trip;
  if (is_draining_ && sample.now >= burst_over_ && estimate() < kStays * *limit_) {
    limit_ = kDraining * (link_ = std::max(estimate(), kSlowLink));
  }
  const bool is_short = queue <= kShort + burst(), is_long = queue > kLong + burst();
  if (is_draining_ && is_short) {
    is_draining_ = false;
    limit_ = kDrained * link_;
    risen_ = drained_at_ = sample.now;
  } else if (is_draining_ && sample.now > drained_by_ && queue < kStays * drained_from_) {
    give_time(sample, queue);  // several streams share the queue, and have not begun to drain it together
  } else if (is_draining_ && sample.now > drained_by_) {
    is_draining_ = false;
    limit_.reset();
    left_alone_until_ = sample.now + kLeftAlone;
  } else if (!is_draining_ && is_long && sample.now >= left_alone_until_) {
    drain(sample, queue);
  } else if (limit_ && !is_draining_ && is_short) {
    rise(sample);
  }
  if (is_short) short_at_ = sample.now;
  return limit_;
}

LinkPacer::Duration LinkPacer::burst() const {
  if (link_ == 0) return Duration(0);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(kBurst / link_));
}

void LinkPacer::give_time(const Sample& sample, Duration queue) {
  const std::chrono::duration<double, std::micro> needed = queue / (1 - kDraining);
  drained_from_ = queue;
  drained_by_ = sample.now + std::chrono::duration_cast<Duration>(needed) + 2 * sample.round_trip + kPatience;
}

// The median, because acknowledgements come in bursts.
double LinkPacer::estimate() const {
  std::array<double, 5> sorted = delivered_;
  const std::size_t count = std::min(samples_, sorted.size());
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return count == 0 ? 0 : sorted[(count - 1) / 2];
}

bool LinkPacer::is_burst_of_others(const Sample& sample) const {
  return limit_ && sample.now - short_at_ <= kSudden && sample.now - drained_at_ > kAgain;
}

// While there is a queue, the delivered rate is that of the link. After a burst of others the limit is what it was.
void LinkPacer::drain(const Sample& sample, Duration queue) {
  const double delivered = estimate();
  if (delivered < kSlowLink || (!limit_ && delivered > kFastLink)) return;
  link_ = limit_ ? std::clamp(delivered, kLimitOff * *limit_, *limit_) : delivered;
  if (is_burst_of_others(sample)) link_ = *limit_ / kDrained;
  burst_over_ = sample.now + kBurstTime;
  limit_ = kDraining * link_;
  is_draining_ = true;
  give_time(sample, queue);
  rise_ = kRise;
  rises_ = 0;
}

void LinkPacer::rise(const Sample& sample) {
  if (sample.now - risen_ < std::max(kRiseEvery, sample.round_trip)) return;
  risen_ = sample.now;
  if (++rises_ >= kRisesUntilFaster) rise_ = std::min(kRiseMax, 1 + 2 * (rise_ - 1));
  if (rises_ >= kRisesUntilFaster) rises_ = kRisesUntilFaster / 2;
  *limit_ *= rise_;
  if (*limit_ > kFastLink) limit_.reset();
}

}  // namespace remotecl
