#include "runtime/client/session/link_meter.h"

namespace remotecl {

void LinkMeter::begin(Way way, Clock::time_point now) {
  const MutexLock lock(mutex_);
  Period& period = periods_[index(way)];
  if (period.under_way++ == 0) period = {1, false, 0, now};
}

void LinkMeter::end(Way way, std::uint64_t bytes, Clock::time_point now) {
  const MutexLock lock(mutex_);
  Period& period = periods_[index(way)];
  period.bytes += bytes;
  period.has_failed = period.has_failed || bytes == 0;  // nobody knows how many bytes have arrived
  if (--period.under_way != 0 && period.bytes < kBytesMax) return;
  const std::chrono::duration<double> time = now - period.since;
  if (!period.has_failed && time.count() > 0) {
    measured(way, static_cast<double>(period.bytes) / time.count(), time > kSure);
  }
  period.bytes = 0;
  period.since = now;
}

// The arrival of bytes is often noticed late but never early, so a slow measurement weighs less than a fast one.
void LinkMeter::measured(Way way, double bytes_per_s, bool is_sure) {
  std::atomic<double>& rate = rates_[index(way)];
  const double before = rate.load(std::memory_order_relaxed);
  const double part = before == 0 ? 1 : is_sure || bytes_per_s > before ? 0.5 : 0.125;
  rate.store(before + part * (bytes_per_s - before), std::memory_order_relaxed);
}

}  // namespace remotecl
