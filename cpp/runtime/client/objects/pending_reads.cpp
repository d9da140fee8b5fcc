#include "runtime/client/objects/pending_reads.h"

#include <algorithm>

#include "runtime/client/objects/event.h"

namespace remotecl {

PendingReads::PendingReads() = default;
PendingReads::~PendingReads() = default;

PendingReads::Ticket PendingReads::begin() {
  const MutexLock lock(mutex_);
  reads_.push_back({++last_, {}, false});
  count_.fetch_add(1, std::memory_order_relaxed);
  return last_;
}

PendingReads::Ticket PendingReads::last() {
  const MutexLock lock(mutex_);
  return last_;
}

void PendingReads::end(Ticket ticket) {
  std::vector<Ref<Event>> held;
  {
    const MutexLock lock(mutex_);
    const auto at = std::find_if(reads_.begin(), reads_.end(), [&](const Read& read) { return read.ticket == ticket; });
    held = std::move(at->held);
    reads_.erase(at);
    count_.fetch_sub(1, std::memory_order_release);
  }
  for (const Ref<Event>& event : held) event->release_hold();
}

bool PendingReads::ended_through(Ticket ticket) {
  if (none()) return true;
  const MutexLock lock(mutex_);
  return std::none_of(reads_.begin(), reads_.end(), [&](const Read& read) { return read.ticket <= ticket; });
}

void PendingReads::hold(Event& event) {
  const MutexLock lock(mutex_);
  for (Read& read : reads_) {
    event.add_hold();
    read.held.emplace_back(&event);
  }
}

void PendingReads::hold(Event& event, const std::vector<Ticket>& tickets) {
  const MutexLock lock(mutex_);
  for (Read& read : reads_) {
    if (!read.before_barrier && std::find(tickets.begin(), tickets.end(), read.ticket) == tickets.end()) continue;
    event.add_hold();
    read.held.emplace_back(&event);
  }
}

void PendingReads::barrier(const std::vector<Ticket>& tickets) {
  const MutexLock lock(mutex_);
  for (Read& read : reads_) {
    if (std::find(tickets.begin(), tickets.end(), read.ticket) != tickets.end()) read.before_barrier = true;
  }
}

void PendingReads::barrier() {
  const MutexLock lock(mutex_);
  for (Read& read : reads_) read.before_barrier = true;
}

}  // namespace remotecl
