#include "server/driver/device_load.h"

#include <algorithm>

namespace remotecl::server {

void DeviceLoad::add(const Ref<QueueProgress>& queue) {
  MutexLock lock(mutex_);
  queues_.push_back(queue);
}

void DeviceLoad::remove(const Ref<QueueProgress>& queue) {
  MutexLock lock(mutex_);
  std::erase(queues_, queue);
}

std::uint64_t DeviceLoad::depth() const {
  MutexLock lock(mutex_);
  std::uint64_t depth = 0;
  for (const auto& queue : queues_) {
    const std::uint64_t ended = queue->ended();  // read before issued(), which only grows
    depth += queue->issued() - ended + queue->held();
  }
  return depth;
}

bool DeviceLoad::is_busy() const {
  MutexLock lock(mutex_);
  return is_busy_locked();
}

bool DeviceLoad::is_busy_locked() const {
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) {
    const std::uint64_t ended = queue->ended();
    return queue->issued() != ended;
  });
}

void DeviceLoad::look(Clock::time_point now) {
  MutexLock lock(mutex_);
  if (last_ != Clock::time_point{}) {
    looks_.push_back({now, now - last_, is_busy_locked()});
    if (looks_.back().busy) busy_total_ += looks_.back().since;
  }
  last_ = now;
  while (!looks_.empty() && now - looks_.front().at >= kWindow) looks_.pop_front();
}

void DeviceLoad::forget() {
  MutexLock lock(mutex_);
  looks_.clear();
  last_ = {};
}

DeviceLoad::Clock::duration DeviceLoad::busy_total() const {
  MutexLock lock(mutex_);
  return busy_total_;
}

DeviceLoad::Busy DeviceLoad::busy() const {
  MutexLock lock(mutex_);
  Clock::duration observed{}, busy{};
  for (const Look& look : looks_) {
    observed += look.since;
    if (look.busy) busy += look.since;
  }
  if (observed == Clock::duration{}) return {};
  const auto observed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::min(observed, kWindow));
  return {static_cast<std::uint32_t>(1000 * busy / observed),
          std::max<std::uint32_t>(1, static_cast<std::uint32_t>(observed_ms.count()))};
}

}  // namespace remotecl::server
