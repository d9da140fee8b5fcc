#include "extras/kernel_sockets/server/session_socket_account.h"

#include <algorithm>

namespace remotecl::server {

bool SessionSocketAccount::open_socket() { return quota_->reserve(quota_->sockets(), 1); }

void SessionSocketAccount::close_socket() { quota_->give_back(quota_->sockets(), 1); }

// As for commands, a refusal ends no session, so the last eighth is left to memory whose refusal does.
bool SessionSocketAccount::hold_memory(std::uint64_t size) { return quota_->reserve(quota_->host(), size, true); }

void SessionSocketAccount::free_memory(std::uint64_t size) { quota_->give_back(quota_->host(), size); }

void SessionSocketAccount::pay(std::uint64_t bytes) {
  for (const auto& limit : rate_limits_) limit->take(bytes);
}

std::chrono::nanoseconds SessionSocketAccount::debt() const {
  std::chrono::nanoseconds longest{0};
  for (const auto& limit : rate_limits_) longest = std::max<std::chrono::nanoseconds>(longest, limit->debt());
  return longest;
}

}  // namespace remotecl::server
