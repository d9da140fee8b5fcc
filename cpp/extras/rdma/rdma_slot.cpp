#include "extras/rdma/rdma_slot.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace remotecl {
namespace {

void count(const RdmaSlot::Entry& entry, RdmaState& to) {
  if (entry.channel == nullptr) return;
  to.bytes_sent += entry.channel->bytes_sent();
  to.bytes_received += entry.channel->bytes_received();
  to.bytes_copied += entry.channel->bytes_copied();
  to.system_calls += entry.channel->system_calls();
}

}  // namespace

RdmaSlot::Entry RdmaSlot::get() const {
  const MutexLock lock(mutex_);
  return entry_;
}

bool RdmaSlot::put(std::shared_ptr<RdmaChannel> channel, std::uint32_t number) {
  Entries useless;  // destroyed after the lock
  RdmaState lost, now;
  bool is_successor = false;
  {
    const MutexLock lock(mutex_);
    if (is_over_ || is_refused_ || number <= entry_.number) return false;
    is_successor = entry_.channel != nullptr;
    if (is_successor) note_loss();
    useless = leave_channel();
    lost = present_state();
    if (past_.losses == 0) past_.reason.clear();
    past_.port = channel->id().port();
    past_.address = channel->id().address();
    past_.peer_address = channel->id().peer_address();
    entry_ = {std::move(channel), number};
    now = present_state();
    changed_.set();
  }
  if (report_ && is_successor) report_(lost);
  if (report_) report_(now);
  return true;
}

void RdmaSlot::drop(const std::shared_ptr<RdmaChannel>& channel) {
  Entries useless;
  RdmaState now;
  {
    const MutexLock lock(mutex_);
    if (channel == nullptr || entry_.channel != channel) return;
    note_loss();
    useless = leave_channel();
    now = present_state();
  }
  if (report_) report_(now);
}

std::shared_ptr<RdmaChannel> RdmaSlot::find(std::uint32_t number) {
  Entries useless;
  const MutexLock lock(mutex_);
  useless = forget(number);
  if (entry_.number == number && entry_.channel != nullptr) return entry_.channel;
  return former_.empty() || former_.front().number != number ? nullptr : former_.front().channel;
}

void RdmaSlot::give_up(std::uint32_t number) {
  const Entry present = get();
  if (present.number == number) drop(present.channel);
  Entries useless;
  const MutexLock lock(mutex_);
  useless = forget(number + 1);
}

// After a loss the state stays kLost, because failed attempts only repeat the loss.
void RdmaSlot::fail(const std::string& reason) {
  const MutexLock lock(mutex_);
  if (past_.losses != 0 || entry_.channel != nullptr || is_over_ || is_refused_) return;
  const RdmaState unavailable = RdmaState::unavailable(reason);
  past_.kind = unavailable.kind;
  past_.reason = unavailable.reason;
}

std::shared_ptr<const void> RdmaSlot::hold(std::uint64_t bytes) {
  if (!hold_) return {std::shared_ptr<const void>(), this};  // counts nothing
  {
    const MutexLock lock(mutex_);
    if (is_refused_) return nullptr;
  }
  std::shared_ptr<const void> held = hold_(bytes);
  if (held == nullptr) refuse();
  return held;
}

// Refuses for good, because the peer would otherwise make one channel after the other.
void RdmaSlot::refuse() {
  Entries useless;
  RdmaState now;
  {
    const MutexLock lock(mutex_);
    if (is_over_ || std::exchange(is_refused_, true)) return;
    useless = leave_channel();
    past_.kind = RdmaState::Kind::kUnavailable;
    past_.reason = rdma_reason::kHostMemory;
    now = present_state();
  }
  if (report_) report_(now);
}

void RdmaSlot::end() {
  Entries useless, former;
  const MutexLock lock(mutex_);
  is_over_ = true;
  useless = leave_channel();
  former = forget(std::numeric_limits<std::uint32_t>::max());
}

RdmaSlot::Seen RdmaSlot::await_loss(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  // The accepting side cannot connect, and may not be able to say that it has lost a channel. So the connecting side
  // looks after a channel that nobody uses.
  if (const std::shared_ptr<RdmaChannel> channel = get().channel) {
    if (!channel->look_after()) drop(channel);
  }
  const MutexLock lock(mutex_);
  while (!is_over_ && entry_.channel != nullptr && lost_.wait_until(mutex_, until) == std::cv_status::no_timeout) {
  }
  if (is_over_) return Seen::kEnd;
  return entry_.channel != nullptr ? Seen::kChannel : Seen::kNone;
}

bool RdmaSlot::rest(std::chrono::milliseconds pause) {
  const auto end = std::chrono::steady_clock::now() + pause;
  const MutexLock lock(mutex_);
  while (!is_over_ && lost_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
  }
  return !is_over_;
}

bool RdmaSlot::was_in_vain() const {
  const MutexLock lock(mutex_);
  return was_in_vain_;
}

RdmaState RdmaSlot::state() const {
  const MutexLock lock(mutex_);
  return present_state();
}

RdmaState RdmaSlot::present_state() const {
  RdmaState state = past_;
  state.system_calls += calls_beside_.load(std::memory_order_relaxed);
  for (const Entry& entry : former_) count(entry, state);
  if (entry_.channel == nullptr) return state;
  count(entry_, state);
  state.kind = RdmaState::Kind::kInUse;
  state.channels = 1;
  return state;
}

// The channel ends before the stream does.
void RdmaSlot::note_loss() {
  past_.kind = RdmaState::Kind::kLost;
  past_.reason = entry_.channel->reason();
  if (past_.reason.empty()) past_.reason = rdma_reason::kReplaced;
  ++past_.losses;
}

// Does not wait, because ending a channel only tells its device. Destroying a channel may wait, so the caller does that
// later with the returned ones, which are of no more use.
RdmaSlot::Entries RdmaSlot::leave_channel() {
  lost_.notify_all();
  if (entry_.channel == nullptr) return {};
  was_in_vain_ = entry_.channel->delivered() + entry_.channel->bytes_received() == 0;
  entry_.channel->shutdown();
  const auto first = std::stable_partition(
      former_.begin(), former_.end(), [](const Entry& entry) { return entry.channel->has_something_to_receive(); });
  Entries useless(std::make_move_iterator(first), std::make_move_iterator(former_.end()));
  former_.erase(first, former_.end());
  for (const Entry& entry : useless) count(entry, past_);
  former_.push_back({std::exchange(entry_.channel, nullptr), entry_.number});
  return useless;
}

RdmaSlot::Entries RdmaSlot::forget(std::uint32_t below) {
  const auto first =
      std::find_if(former_.begin(), former_.end(), [=](const Entry& one) { return one.number >= below; });
  Entries useless(std::make_move_iterator(former_.begin()), std::make_move_iterator(first));
  former_.erase(former_.begin(), first);
  for (const Entry& entry : useless) count(entry, past_);
  return useless;
}

}  // namespace remotecl
