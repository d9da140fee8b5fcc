#include "runtime/client/support/inbound_host_ranges.h"

#include <algorithm>

namespace remotecl {

InboundHostRanges& InboundHostRanges::instance() {
  static InboundHostRanges& arrivals = *new InboundHostRanges;  // never destroyed: transfers may outlive main()
  return arrivals;
}

template <class Function>
void InboundHostRanges::for_each_part(std::uintptr_t begin, std::uintptr_t end, Function&& function) {
  const std::uintptr_t first = begin / kBlock, last = (end - 1) / kBlock;
  const std::size_t count = std::min<std::uintptr_t>(last - first + 1, kParts);
  for (std::size_t i = 0; i < count; ++i) function(parts_[(first + i) % kParts]);
}

InboundHostRanges::Ticket InboundHostRanges::begin(const std::byte* memory, std::uint64_t size, bool replaces) {
  auto arrival = std::make_shared<Range>();
  arrival->begin = reinterpret_cast<std::uintptr_t>(memory);
  arrival->end = arrival->begin + std::max<std::uint64_t>(size, 1);
  count_.fetch_add(1, std::memory_order_release);
  for_each_part(arrival->begin, arrival->end, [&](Part& part) {
    const MutexLock lock(part.mutex);
    if (replaces) replace(part, arrival);
    if (part.arrivals.empty()) part.size_max = 0;
    part.size_max = std::max(part.size_max, size);
    part.arrivals.emplace(arrival->begin, arrival);
  });
  return arrival;
}

void InboundHostRanges::replace(Part& part, const Ticket& by) {
  for (auto at = part.arrivals.lower_bound(by->begin); at != part.arrivals.end() && at->first < by->end;) {
    const Ticket old = at->second;
    if (old->end > by->end) {
      ++at;
      continue;
    }
    at = part.arrivals.erase(at);
    const MutexLock lock(old->mutex);
    // A range of several parts is replaced once.
    if (old->has_ended || old->replacement == by) continue;
    old->replacement = by;
    by->left.fetch_add(1);
  }
}

void InboundHostRanges::end(const Ticket& ticket) {
  for (Ticket next = ticket; next && next->left.fetch_sub(1) == 1;) next = finish(next);
}

InboundHostRanges::Ticket InboundHostRanges::finish(const Ticket& ticket) {
  for_each_part(ticket->begin, ticket->end, [&](Part& part) {
    const MutexLock lock(part.mutex);
    const auto [first, last] = part.arrivals.equal_range(ticket->begin);
    const auto at = std::find_if(first, last, [&](const auto& each) { return each.second == ticket; });
    if (at != last) part.arrivals.erase(at);
  });
  std::vector<std::shared_ptr<Waiting>> waiting;
  Ticket replacement;
  {
    const MutexLock lock(ticket->mutex);
    ticket->has_ended = true;
    waiting.swap(ticket->waiting);
    replacement = std::move(ticket->replacement);
  }
  count_.fetch_sub(1, std::memory_order_release);
  for (const auto& one : waiting) {
    if (one->left.fetch_sub(1) == 1) one->function();
  }
  return replacement;
}

bool InboundHostRanges::when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function) {
  if (none() || size == 0) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  std::vector<Ticket> under_way;
  for_each_part(begin, begin + size, [&](Part& part) {
    const MutexLock lock(part.mutex);
    auto at = part.arrivals.lower_bound(begin - std::min<std::uintptr_t>(begin, part.size_max));
    for (; at != part.arrivals.end() && at->first < begin + size; ++at) {
      if (at->second->end > begin) under_way.push_back(at->second);
    }
  });
  if (under_way.empty()) return false;
  const auto waiting = std::make_shared<Waiting>();
  waiting->function = std::move(function);
  for (const Ticket& arrival : under_way) {
    const MutexLock lock(arrival->mutex);
    if (arrival->has_ended) continue;
    ++waiting->left;
    arrival->waiting.push_back(waiting);
  }
  return waiting->left.fetch_sub(1) != 1;
}

}  // namespace remotecl
