#include "runtime/client/pending_reads.h"

#include <algorithm>

#include "runtime/client/event.h"

namespace remotecl {

PendingReads::PendingReads() = default;
PendingReads::~PendingReads() = default;

PendingReads::Ticket PendingReads::begin() {
  const std::lock_guard lock(mutex_);
  reads_.push_back({++last_, {}});
  count_.fetch_add(1, std::memory_order_relaxed);
  return last_;
}

void PendingReads::end(Ticket ticket) {
  std::vector<Ref<Event>> held;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(reads_.begin(), reads_.end(), [&](const Read& read) { return read.ticket == ticket; });
    held = std::move(at->held);
    reads_.erase(at);
    count_.fetch_sub(1, std::memory_order_release);
  }
  for (const Ref<Event>& event : held) event->release_hold(true);
}

void PendingReads::hold(Event& event) {
  const std::lock_guard lock(mutex_);
  for (Read& read : reads_) {
    event.add_hold();
    read.held.emplace_back(&event);
  }
}

}  // namespace remotecl
