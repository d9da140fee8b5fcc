#include "server/driver/device_load.h"

#include <algorithm>

namespace remotecl::server {

void DeviceLoad::add(const Ref<QueueProgress>& queue) {
  MutexLock lock(mutex_);
  queues_.push_back(queue);
  queue_count_.store(queues_.size(), std::memory_order_relaxed);
  past_[queue->session()];
}

void DeviceLoad::remove(const Ref<QueueProgress>& queue) {
  MutexLock lock(mutex_);
  if (std::erase(queues_, queue) == 0) return;
  queue_count_.store(queues_.size(), std::memory_order_relaxed);
  past_ended_ += queue->ended();
  past_placed_ += queue->placed();
  const auto session = past_.find(queue->session());
  if (session == past_.end()) return;
  session->second.usage.commands += queue->issued();
  session->second.usage.placed += queue->placed();
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

std::uint64_t DeviceLoad::placed() const {
  MutexLock lock(mutex_);
  std::uint64_t placed = past_placed_;
  for (const auto& queue : queues_) placed += queue->placed();
  return placed;
}

DeviceLoad::Work DeviceLoad::work() const {
  MutexLock lock(mutex_);
  Work work{{}, past_ended_};
  for (const auto& queue : queues_) {
    const std::uint64_t ended = queue->ended();  // read before issued(), which only grows
    const std::uint64_t running = queue->issued() - ended, depth = running + queue->held();
    work.ended += ended;
    if (depth == 0) continue;
    const auto is_same = [&queue](const OfSession& each) { return each.session == queue->session(); };
    auto at = std::find_if(work.sessions.begin(), work.sessions.end(), is_same);
    if (at == work.sessions.end()) at = work.sessions.insert(at, OfSession{queue->session()});
    at->depth += depth;
    at->is_running = at->is_running || running != 0;
  }
  return work;
}

DeviceLoad::Usage DeviceLoad::usage(std::uint64_t session) const {
  MutexLock lock(mutex_);
  return usage_locked(session);
}

DeviceLoad::Usage DeviceLoad::take_usage(std::uint64_t session) {
  MutexLock lock(mutex_);
  const Usage usage = usage_locked(session);
  past_.erase(session);
  return usage;
}

DeviceLoad::Usage DeviceLoad::usage_locked(std::uint64_t session) const {
  const auto past = past_.find(session);
  if (past == past_.end()) return {};
  Usage usage = past->second.usage;
  for (const auto& queue : queues_) {
    if (queue->session() != session) continue;
    usage.commands += queue->issued();
    usage.placed += queue->placed();
  }
  return usage;
}

// A session with several busy queues counts once.
void DeviceLoad::count_busy(Clock::time_point now, Clock::duration since) {
  for (const auto& queue : queues_) {
    const std::uint64_t ended = queue->ended();
    if (queue->issued() == ended) continue;
    const auto session = past_.find(queue->session());
    if (session == past_.end() || session->second.seen == now) continue;
    session->second.seen = now;
    session->second.usage.busy += since;
  }
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
    if (looks_.back().busy) {
      busy_total_ += looks_.back().since;
      count_busy(now, looks_.back().since);
    }
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
