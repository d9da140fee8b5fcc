#include "server/wire/stripe_table.h"

#include <algorithm>
#include <array>

#include "runtime/crypto/secret.h"
#include "runtime/transport/stream/striped_connection.h"
#include "runtime/transport/tcp/loopback.h"

namespace remotecl::server {

std::optional<Secret> StripeTable::add(const Hello& hello, std::shared_ptr<Connection> connection) {
  const unsigned index = stripes_of(hello.features);
  MutexLock lock(mutex_);
  for (StripeGroup* const group : groups_) {
    group->table_.mutex_.assume_held();  // this one
    if (!same_secret(connecting_proof(group->key_, hello), hello.secret)) continue;
    if (closed_ || index == 0 || index > group->further_count_ || group->further_[index - 1]) return std::nullopt;
    group->further_[index - 1] = std::move(connection);
    return group->key_;
  }
  return std::nullopt;
}

void StripeTable::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  end_waiting();
}

void StripeTable::settle(Deadline deadline) {
  MutexLock lock(mutex_);
  do end_waiting();
  while (!groups_.empty() && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout);
}

void StripeTable::end_waiting() {
  for (StripeGroup* const group : groups_) {
    group->table_.mutex_.assume_held();  // this one
    if (group->waits_for_ != nullptr) group->waits_for_->shutdown();
  }
}

StripeGroup::StripeGroup(StripeTable& table, unsigned count, const Secret& key)
    : table_(table), key_(key), further_count_(std::max(count, 1u) - 1), further_(further_count_) {
  MutexLock lock(table_.mutex_);
  table_.groups_.insert(this);
}

void StripeGroup::leave() {
  MutexLock lock(table_.mutex_);
  table_.groups_.erase(this);
  table_.changed_.notify_all();
}

// Returns 0 if the stream cannot be put together.
std::uint64_t StripeGroup::await_count(Connection& first) {
  {
    MutexLock lock(table_.mutex_);
    if (table_.closed_) return 0;
    waits_for_ = &first;
    table_.changed_.notify_all();
  }
  std::array<std::byte, kStripesJoinedSize> bytes;
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kStripesTimeoutMs);
  const bool has_come = read_before(first, bytes, deadline);
  MutexLock lock(table_.mutex_);
  waits_for_ = nullptr;
  const std::uint64_t count = has_come ? decode_frame<StripesJoined>(bytes).count : 0;
  if (count > further_count_ + 1) return 0;
  // The other side counts only connections that it got a Welcome for, and those are all here.
  for (std::uint64_t index = 1; index < count; ++index) {
    if (!further_[index - 1]) return 0;
  }
  return count;
}

std::unique_ptr<Connection> StripeGroup::join(std::unique_ptr<Connection> first) {
  if (further_count_ == 0) return first;
  const std::uint64_t count = await_count(*first);
  // The first connection may still hold handshake bytes, which would be read as part of the stream.
  if (count == 0) return loopback::make_pair().first;
  if (count == 1) return first;
  std::vector<std::shared_ptr<Connection>> carriers;
  carriers.push_back(std::move(first));
  MutexLock lock(table_.mutex_);
  for (std::uint64_t index = 1; index < count; ++index) carriers.push_back(std::move(further_[index - 1]));
  return std::make_unique<StripedConnection>(std::move(carriers));
}

}  // namespace remotecl::server
