#include "runtime/transport/rdma/rdma_slot.h"

#include <utility>

namespace remotecl {

RdmaSlot::Entry RdmaSlot::get() const {
  const MutexLock lock(mutex_);
  return entry_;
}

bool RdmaSlot::put(std::shared_ptr<RdmaChannel> channel, std::uint32_t number) {
  std::shared_ptr<RdmaChannel> former;  // destroyed after the lock
  RdmaState lost, now;
  {
    const MutexLock lock(mutex_);
    if (is_over_ || number <= entry_.number) return false;
    if (entry_.channel != nullptr) note_loss();
    former = leave_channel();
    lost = present_state();
    if (past_.losses == 0) past_.reason.clear();
    past_.port = channel->id().port();
    past_.address = channel->id().address();
    past_.peer_address = channel->id().peer_address();
    entry_ = {std::move(channel), number};
    now = present_state();
    changed_.set();
  }
  if (report_ && former != nullptr) report_(lost);
  if (report_) report_(now);
  return true;
}

void RdmaSlot::drop(const std::shared_ptr<RdmaChannel>& channel) {
  std::shared_ptr<RdmaChannel> former;
  RdmaState now;
  {
    const MutexLock lock(mutex_);
    if (channel == nullptr || entry_.channel != channel) return;
    note_loss();
    former = leave_channel();
    now = present_state();
  }
  if (report_) report_(now);
}

// After a loss, that stays the state: the attempts that follow repeat it.
void RdmaSlot::fail(const std::string& reason) {
  const MutexLock lock(mutex_);
  if (past_.losses != 0 || entry_.channel != nullptr || is_over_) return;
  const RdmaState unavailable = RdmaState::unavailable(reason);
  past_.kind = unavailable.kind;
  past_.reason = unavailable.reason;
}

void RdmaSlot::end() {
  std::shared_ptr<RdmaChannel> former;
  const MutexLock lock(mutex_);
  is_over_ = true;
  former = leave_channel();
}

RdmaSlot::Seen RdmaSlot::await_loss(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
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

BulkTransport::RdmaBytes RdmaSlot::bytes() const {
  const MutexLock lock(mutex_);
  BulkTransport::RdmaBytes bytes{past_.bytes_sent, past_.bytes_received};
  if (entry_.channel != nullptr) {
    bytes.sent += entry_.channel->bytes_sent();
    bytes.received += entry_.channel->bytes_received();
  }
  return bytes;
}

std::string RdmaSlot::last_loss() const {
  const MutexLock lock(mutex_);
  return past_.losses != 0 ? past_.reason : "";
}

RdmaState RdmaSlot::state() const {
  const MutexLock lock(mutex_);
  return present_state();
}

RdmaState RdmaSlot::present_state() const {
  RdmaState state = past_;
  if (entry_.channel == nullptr) return state;
  state.kind = RdmaState::Kind::kInUse;
  state.channels = 1;
  state.bytes_sent += entry_.channel->bytes_sent();
  state.bytes_received += entry_.channel->bytes_received();
  return state;
}

// The channel ends before the stream does.
void RdmaSlot::note_loss() {
  past_.kind = RdmaState::Kind::kLost;
  past_.reason = entry_.channel->reason();
  if (past_.reason.empty()) past_.reason = rdma_reason::kReplaced;
  ++past_.losses;
}

// Does not wait: ending a channel only tells its device. Destroying it may, so the caller does that later.
std::shared_ptr<RdmaChannel> RdmaSlot::leave_channel() {
  lost_.notify_all();
  if (entry_.channel == nullptr) return nullptr;
  entry_.channel->shutdown();
  past_.bytes_sent += entry_.channel->bytes_sent();
  past_.bytes_received += entry_.channel->bytes_received();
  return std::exchange(entry_.channel, nullptr);
}

}  // namespace remotecl
