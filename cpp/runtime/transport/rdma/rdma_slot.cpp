#include "runtime/transport/rdma/rdma_slot.h"

#include <utility>

namespace remotecl {

RdmaSlot::Entry RdmaSlot::get() const {
  const MutexLock lock(mutex_);
  return entry_;
}

bool RdmaSlot::put(std::shared_ptr<RdmaChannel> channel, std::uint32_t number) {
  std::shared_ptr<RdmaChannel> former;  // destroyed after the lock
  const MutexLock lock(mutex_);
  if (is_over_ || number <= entry_.number) return false;
  former = leave_channel();
  entry_ = {std::move(channel), number};
  changed_.set();
  return true;
}

void RdmaSlot::drop(const std::shared_ptr<RdmaChannel>& channel) {
  std::shared_ptr<RdmaChannel> former;
  const MutexLock lock(mutex_);
  if (entry_.channel == channel) former = leave_channel();
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
  BulkTransport::RdmaBytes bytes = past_;
  if (entry_.channel != nullptr) {
    bytes.sent += entry_.channel->bytes_sent();
    bytes.received += entry_.channel->bytes_received();
  }
  return bytes;
}

std::string RdmaSlot::last_loss() const {
  const MutexLock lock(mutex_);
  return loss_;
}

// Does not wait: ending a channel only tells its device. Destroying it may, so the caller does that later.
std::shared_ptr<RdmaChannel> RdmaSlot::leave_channel() {
  lost_.notify_all();
  if (entry_.channel == nullptr) return nullptr;
  loss_ = entry_.channel->reason();
  entry_.channel->shutdown();
  past_.sent += entry_.channel->bytes_sent();
  past_.received += entry_.channel->bytes_received();
  return std::exchange(entry_.channel, nullptr);
}

}  // namespace remotecl
