#include "runtime/client/host_arrivals.h"

#include <algorithm>

namespace remotecl {

HostArrivals& HostArrivals::instance() {
  static HostArrivals& arrivals = *new HostArrivals;  // never destroyed: transfers may outlive main()
  return arrivals;
}

HostArrivals::Ticket HostArrivals::begin(const std::byte* memory, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (count_.fetch_add(1, std::memory_order_release) == 0) size_max_ = 0;
  size_max_ = std::max(size_max_, size);
  return arrivals_.emplace(reinterpret_cast<std::uintptr_t>(memory), Arrival{size, {}});
}

void HostArrivals::end(Ticket ticket) {
  std::vector<std::shared_ptr<Waiting>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = std::move(ticket->second.waiting);
    arrivals_.erase(ticket);
    count_.fetch_sub(1, std::memory_order_release);
  }
  for (const auto& one : waiting) {
    if (one->left.fetch_sub(1) == 1) one->function();
  }
}

bool HostArrivals::when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function) {
  if (none()) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  std::shared_ptr<Waiting> waiting;
  const std::lock_guard lock(mutex_);
  auto at = arrivals_.lower_bound(begin - std::min<std::uintptr_t>(begin, size_max_));
  for (; at != arrivals_.end() && at->first < begin + size; ++at) {
    if (at->first + at->second.size <= begin) continue;
    if (!waiting) {
      waiting = std::make_shared<Waiting>();
      waiting->function = std::move(function);
    }
    ++waiting->left;
    at->second.waiting.push_back(waiting);
  }
  return waiting != nullptr;
}

}  // namespace remotecl
