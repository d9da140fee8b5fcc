#include "server/admission/pending_handshakes.h"

#include <algorithm>

namespace remotecl::server {

// Returns an IPv4 address, or the /64 network of an IPv6 address, because one host may have many addresses in it.
IpNumber PendingHandshakes::origin_of(const Address& address) {
  constexpr std::size_t kNetworkBytes = 8;
  IpNumber origin = ip_number(address.host).value_or(IpNumber{});
  if (!is_v4(origin)) std::fill(origin.begin() + kNetworkBytes, origin.end(), 0);
  return origin;
}

std::optional<PendingHandshakes::Slot> PendingHandshakes::enter(Connection& connection, const Address& from,
                                                                Clock::time_point now) {
  const IpNumber origin = origin_of(from);
  MutexLock lock(mutex_);
  if (entries_.size() >= kMax && !make_room(origin, now)) return std::nullopt;
  entries_.push_back({++last_number_, &connection, origin, now});
  return Slot(*this, last_number_);
}

// Returns whether there is a slot for one more; shuts down another connection if need be.
bool PendingHandshakes::make_room(const IpNumber& newcomer, Clock::time_point now) {
  std::map<IpNumber, std::size_t> counts;
  for (const Entry& entry : entries_) ++counts[entry.from];
  const std::size_t own = counts[newcomer];
  std::size_t most = 0;
  for (const auto& [from, count] : counts) most = std::max(most, count);
  // The oldest one, because entries are in order of arrival.
  const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const Entry& entry) REQUIRES(mutex_) { return counts[entry.from] == most; });
  const bool has_too_many = most > own + 1;
  if (!has_too_many && entries_.size() < kMax + kFurtherMax && known_.contains(newcomer)) return true;
  if (!has_too_many && now - oldest->since < kPatience) return false;
  oldest->connection->shutdown();
  entries_.erase(oldest);
  return true;
}

void PendingHandshakes::leave(std::uint64_t number, bool is_proved) {
  MutexLock lock(mutex_);
  const auto at =
      std::find_if(entries_.begin(), entries_.end(), [number](const Entry& entry) { return entry.number == number; });
  if (at == entries_.end()) return;  // it was shut down to make room
  if (is_proved) note_known(at->from);
  entries_.erase(at);
}

void PendingHandshakes::note_known(const IpNumber& from) {
  known_[from] = Clock::now();
  if (known_.size() <= kKnownMax) return;
  known_.erase(std::min_element(known_.begin(), known_.end(),
                                [](const auto& one, const auto& other) { return one.second < other.second; }));
}

void PendingHandshakes::shutdown_all() {
  MutexLock lock(mutex_);
  for (const Entry& entry : entries_) entry.connection->shutdown();
}

}  // namespace remotecl::server
