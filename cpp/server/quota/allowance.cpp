#include "server/quota/allowance.h"

#include <thread>

#include "runtime/base/futex.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

// A daemon that says nothing for so long is stuck, and what was asked for counts as refused.
constexpr std::chrono::seconds kAnswerTime{5};
// Until the next look at whether the daemon has counted what was sent.
constexpr std::chrono::microseconds kCountingTime{200};
// Until the next look at whether it has answered, in case that it could not wake this process.
constexpr std::chrono::milliseconds kNapTime{100};

}  // namespace

bool Allowance::claim(std::size_t counter, std::uint64_t size, std::uint64_t limit, bool spares_some) {
  std::atomic<std::uint64_t>& used = (*claims_)[counter];
  const MutexLock lock(mutex_);
  std::uint64_t before = used.load();
  do {
    if (size > limit || before > limit - size) return false;
  } while (!used.compare_exchange_weak(before, before + size));
  if (!covers(counter)) ask_and_wait(counter, spares_some);
  if (covers(counter)) return true;
  used.fetch_sub(size);
  return false;
}

void Allowance::ask_and_wait(std::size_t counter, bool spares_some) {
  const ShareClaim claim{++number_, static_cast<std::uint32_t>(counter), spares_some};
  const auto end = Clock::now() + kAnswerTime;
  while (!ask_(claim)) {
    if (Clock::now() > end) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::atomic<std::uint64_t>& answered = std::as_const(*allowances_)[layout_.answered()];
  for (std::uint64_t seen = answered.load(); seen < claim.number && Clock::now() < end; seen = answered.load()) {
    futex_wait(answered, seen, kNapTime);
  }
}

Clock::duration Allowance::debt(std::size_t rate, std::uint64_t block) {
  const Counters& allowances = *allowances_;
  const std::uint64_t counted = allowances[layout_.counted(rate)].load();
  const Clock::time_point paid_until{
      Clock::duration(static_cast<Clock::rep>(allowances[layout_.paid_until(rate)].load()))};
  if (const auto left = paid_until - Clock::now(); left > Clock::duration::zero()) return left;
  if ((*claims_)[layout_.sent(rate)].load() - counted < block) return Clock::duration::zero();
  if (told_[rate].exchange(counted + 1) != counted + 1 &&
      !ask_({0, static_cast<std::uint32_t>(layout_.sent(rate)), false})) {
    told_[rate] = 0;
  }
  return kCountingTime;
}

}  // namespace remotecl::server
