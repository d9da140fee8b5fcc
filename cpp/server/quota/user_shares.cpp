#include "server/quota/user_shares.h"

#include <algorithm>

#include "runtime/base/futex.h"

namespace remotecl::server {
namespace {

// The most that one message of a process makes the user's other sessions wait for bandwidth: a tenth of a second.
std::uint64_t turn(std::uint64_t rate) { return rate / 10 + 1; }

// Never wraps, whatever a session without limits says.
std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
  return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

}  // namespace

SessionShare::SessionShare(Ref<UserShares> user, const Bounds& bounds)
    : user_(std::move(user)),
      bounds_(bounds),
      claims_(user_->layout_.claims(), Counters::Writer::kOther),
      allowances_(user_->layout_.allowances(), Counters::Writer::kThisProcess) {
  user_->enter(*this);
}

bool SessionShare::claim(const ShareClaim& claim) {
  if (claim.counter >= user_->layout_.claims()) return false;
  user_->claim(*this, claim);
  return true;
}

std::uint64_t SessionShare::claimed(std::size_t counter) const {
  return std::min(claims_[counter].load(), bounds_.of_session.of(counter, user_->devices_));
}

void SessionShare::allow(std::size_t counter, std::uint64_t size) { allowances_[counter].store(size); }

std::uint64_t UserShares::used(std::size_t counter) const {
  MutexLock lock(mutex_);
  std::uint64_t used = 0;
  for (const SessionShare* share : shares_) used = sum(used, share->claimed(counter));
  return used;
}

void UserShares::enter(SessionShare& share) {
  MutexLock lock(mutex_);
  shares_.insert(&share);
  for (std::size_t counter = 0; counter < layout_.counters; ++counter) divide(share, counter, false);
}

void UserShares::leave(SessionShare& share) {
  MutexLock lock(mutex_);
  shares_.erase(&share);
}

void UserShares::claim(SessionShare& share, const ShareClaim& claim) {
  MutexLock lock(mutex_);
  if (claim.counter >= layout_.counters) return count_sent(share, claim.counter - layout_.counters);
  divide(share, claim.counter, claim.spares_some);
  std::atomic<std::uint64_t>& answered = share.allowances_[layout_.answered()];
  answered.store(claim.number);
  futex_wake(answered);
}

// A process counts first and then looks whether that is allowed; here it is the other way round. So if it counts more
// at the same time, either this notices and still allows it, or the process notices and asks.
std::uint64_t UserShares::settle(SessionShare& share, std::size_t counter) {
  const std::uint64_t claimed = share.claimed(counter);
  if (share.bounds_.of_user.of(counter, devices_) == UINT64_MAX) return claimed;  // there is nothing to divide
  const std::uint64_t allowed = share.allowances_[counter].load();
  share.allow(counter, std::min(claimed, allowed));
  const std::uint64_t settled = std::min(std::max(claimed, share.claimed(counter)), allowed);
  share.allow(counter, settled);
  return settled;
}

void UserShares::divide(SessionShare& asker, std::size_t counter, bool spares_some) {
  const std::uint64_t limit = asker.bounds_.of_user.of(counter, devices_);
  if (limit == UINT64_MAX) return asker.allow(counter, asker.bounds_.of_session.of(counter, devices_));
  std::uint64_t total = 0;
  for (SessionShare* share : shares_) total = sum(total, settle(*share, counter));
  const std::uint64_t has = asker.allowances_[counter].load();
  const std::uint64_t wanted = std::max(asker.claimed(counter), has) - has;
  const std::uint64_t most = spares_some ? limit - limit / 8 : limit;
  if (total <= most && wanted <= most - total) {
    asker.allow(counter, has + wanted);
    total += wanted;
  }
  // What is free goes to all in equal parts, so that they need not ask soon; but not the eighth that some must spare.
  const std::uint64_t free = std::max(limit - limit / 8, total) - total;
  for (SessionShare* share : shares_) {
    if (share->bounds_.of_user.of(counter, devices_) == UINT64_MAX) continue;
    const std::uint64_t allowed = share->allowances_[counter].load();
    const std::uint64_t session_max = std::max(share->bounds_.of_session.of(counter, devices_), allowed);
    share->allow(counter, allowed + std::min(free / shares_.size(), session_max - allowed));
  }
}

// Each session has its turn: what a process says is counted when what it has said before is paid for, so no process can
// keep others from sending.
void UserShares::count_sent(SessionShare& share, std::size_t rate) {
  const std::uint64_t bytes_per_second = share.bounds_.rates[rate];
  const auto now = std::chrono::steady_clock::now();
  if (bytes_per_second == 0 || now < share.paid_until_[rate]) return;
  const std::uint64_t sent = share.claims_[layout_.sent(rate)].load() - share.counted_[rate];
  const std::uint64_t counted = std::min(sent, turn(bytes_per_second));
  share.counted_[rate] += counted;
  paid_until_[rate] = TokenBucket(bytes_per_second).paid_until(paid_until_[rate], counted, now);
  share.paid_until_[rate] = paid_until_[rate];
  // In this order, because the process looks at the second one first.
  share.allowances_[layout_.paid_until(rate)].store(
      static_cast<std::uint64_t>(paid_until_[rate].time_since_epoch().count()));
  share.allowances_[layout_.counted(rate)].store(share.counted_[rate]);
}

}  // namespace remotecl::server
