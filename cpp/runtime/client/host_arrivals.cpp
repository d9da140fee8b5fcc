#include "runtime/client/host_arrivals.h"

#include <algorithm>

namespace remotecl {

HostArrivals& HostArrivals::instance() {
  static HostArrivals& arrivals = *new HostArrivals;  // never destroyed: transfers may outlive main()
  return arrivals;
}

HostArrivals::Ticket HostArrivals::begin(const std::byte* memory, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  arrivals_.push_back({++last_, memory, size, {}});
  count_.fetch_add(1, std::memory_order_release);
  return last_;
}

void HostArrivals::end(Ticket ticket) {
  std::vector<std::shared_ptr<Waiting>> waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(arrivals_.begin(), arrivals_.end(),
                                 [ticket](const Arrival& arrival) { return arrival.ticket == ticket; });
    waiting = std::move(at->waiting);
    *at = std::move(arrivals_.back());
    arrivals_.pop_back();
    count_.fetch_sub(1, std::memory_order_release);
  }
  for (const auto& one : waiting) {
    if (one->left.fetch_sub(1) == 1) one->function();
  }
}

bool HostArrivals::when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function) {
  if (none()) return false;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Waiting> waiting;
  const std::less<> before;
  for (Arrival& arrival : arrivals_) {
    if (!before(arrival.memory, memory + size) || !before(memory, arrival.memory + arrival.size)) continue;
    if (!waiting) {
      waiting = std::make_shared<Waiting>();
      waiting->function = std::move(function);
    }
    ++waiting->left;
    arrival.waiting.push_back(waiting);
  }
  return waiting != nullptr;
}

}  // namespace remotecl
