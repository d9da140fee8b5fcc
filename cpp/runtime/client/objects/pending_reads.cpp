#include "runtime/client/objects/pending_reads.h"

#include <algorithm>
#include <iterator>

#include "runtime/client/objects/event.h"

namespace remotecl {

PendingReads::PendingReads() = default;
PendingReads::~PendingReads() = default;

PendingReads::Ticket PendingReads::begin() {
  const MutexLock lock(mutex_);
  reads_.emplace_hint(reads_.end(), ++last_, Read{});
  count_.fetch_add(1, std::memory_order_relaxed);
  return last_;
}

PendingReads::Ticket PendingReads::last() {
  const MutexLock lock(mutex_);
  return last_;
}

template <class Places>
void PendingReads::leave(Places& places, typename Places::iterator place, std::list<Ref<Event>>& released) {
  auto& to = place == places.begin() ? released : std::prev(place)->second.waiting;
  to.splice(to.end(), place->second.waiting);
  places.erase(place);
}

void PendingReads::end(Ticket ticket) {
  std::list<Ref<Event>> released;
  {
    const MutexLock lock(mutex_);
    const auto read = reads_.find(ticket);
    released.splice(released.end(), read->second.held);
    const auto before_barrier = before_barriers_.find(read->second.before_barrier);
    if (before_barrier != before_barriers_.end()) leave(before_barriers_, before_barrier, released);
    leave(reads_, read, released);
    count_.fetch_sub(1, std::memory_order_release);
  }
  for (const Ref<Event>& event : released) event->release_hold();
}

bool PendingReads::ended_through(Ticket ticket) {
  if (none()) return true;
  const MutexLock lock(mutex_);
  return reads_.empty() || reads_.begin()->first > ticket;
}

bool PendingReads::have_ended(const std::vector<Ticket>& tickets) {
  if (tickets.empty() || none()) return true;
  const MutexLock lock(mutex_);
  return std::ranges::none_of(tickets, [&](Ticket ticket) REQUIRES(mutex_) { return reads_.contains(ticket); });
}

std::vector<PendingReads::Ticket> PendingReads::awaited(std::vector<Ticket> tickets) {
  if (none()) return {};
  const MutexLock lock(mutex_);
  if (before_barriers_.empty()) return tickets;
  for (const auto& [ticket, read] : reads_) {
    if (read.before_barrier != 0) tickets.push_back(ticket);
  }
  return tickets;
}

void PendingReads::wait_for_all(Event& event, Place& last) {
  event.add_hold();
  last.waiting.emplace_back(&event);
}

void PendingReads::hold(Event& event) {
  const MutexLock lock(mutex_);
  if (!reads_.empty()) wait_for_all(event, reads_.rbegin()->second);
}

void PendingReads::hold(Event& event, const std::vector<Ticket>& tickets) {
  const MutexLock lock(mutex_);
  for (const Ticket ticket : tickets) {
    const auto read = reads_.find(ticket);
    if (read == reads_.end() || read->second.before_barrier != 0) continue;
    event.add_hold();
    read->second.held.emplace_back(&event);
  }
  if (!before_barriers_.empty()) wait_for_all(event, before_barriers_.rbegin()->second);
}

void PendingReads::put_before_barrier(Read& read) {
  if (read.before_barrier != 0) return;
  read.before_barrier = ++barrier_position_;
  before_barriers_.emplace_hint(before_barriers_.end(), read.before_barrier, Place{});
}

void PendingReads::barrier(const std::vector<Ticket>& tickets) {
  const MutexLock lock(mutex_);
  for (const Ticket ticket : tickets) {
    const auto read = reads_.find(ticket);
    if (read != reads_.end()) put_before_barrier(read->second);
  }
}

void PendingReads::barrier() {
  const MutexLock lock(mutex_);
  for (auto read = reads_.upper_bound(last_before_barrier_); read != reads_.end(); ++read) {
    put_before_barrier(read->second);
  }
  last_before_barrier_ = last_;
}

}  // namespace remotecl
