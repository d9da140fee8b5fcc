#include "runtime/transport/stream/resumable_writer.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "runtime/protocol/sizes.h"

namespace remotecl {
namespace {

// Nothing can be sent that could not be sent again.
constexpr const char* kNoMemory = "there is no memory for what the other side has not confirmed yet";

}  // namespace

bool ResumableWriter::adopt_carrier() {
  if (generation_ != handover_.generation()) {
    CarrierHandover::Carrier next = handover_.take_for_writer();
    generation_ = next.generation;
    carrier_ = std::move(next.connection);
    sent_ = next.resume_at;
  }
  return carrier_ != nullptr;
}

void ResumableWriter::drop_carrier() { handover_.broke(std::exchange(carrier_, nullptr)); }

bool ResumableWriter::is_crowded() {
  kept_.drop_until(acknowledged_.count());
  const bool is_crowded = kept_.owned() > kReplayBytesMax;
  may_be_crowded_.store(is_crowded, std::memory_order_relaxed);
  return is_crowded;
}

bool ResumableWriter::is_still_crowded() {
  MutexLock lock(mutex_);
  return is_crowded() && !ended();
}

bool ResumableWriter::await_room() {
  if (!may_be_crowded_.load(std::memory_order_relaxed) && !broken()) return !ended();
  MutexLock lock(mutex_);
  while (broken() || (is_crowded() && !ended())) room_.wait_for(mutex_, kMissedAfter);
  return !ended();
}

// Sends kept bytes that have not been sent over this carrier, blocking.
void ResumableWriter::send_kept() {
  while (sent_ < kept_.end()) {
    const Bytes bytes = kept_.at(sent_);
    if (!carrier_->write(bytes)) return drop_carrier();
    sent_ += bytes.size();
  }
}

// The other side may acknowledge bytes before they are counted here.
void ResumableWriter::offer(std::size_t size) { offered_.store(kept_.end() + size, std::memory_order_release); }

void ResumableWriter::count_sent() { bytes_sent_.store(kept_.end(), std::memory_order_relaxed); }

bool ResumableWriter::write(iovec* parts, int count) {
  for (; count > Connection::kPartsMax; parts += Connection::kPartsMax, count -= Connection::kPartsMax) {
    if (!write(parts, Connection::kPartsMax)) return false;
  }
  const auto keep = [&]() REQUIRES(mutex_) {
    for (int i = 0; i < count; ++i) kept_.append({static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len});
  };
  std::size_t size = 0;
  std::array<iovec, Connection::kPartsMax> sent;  // sending changes the vectors
  std::copy_n(parts, count, sent.begin());
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return write_kept(size, keep, [&]() REQUIRES(mutex_) { return carrier_->write(sent.data(), count); });
}

bool ResumableWriter::write_borrowed(Bytes header, Bytes borrowed) {
  const auto keep = [&]() REQUIRES(mutex_) {
    kept_.append(header);
    kept_.borrow(borrowed);
  };
  return write_kept(header.size() + borrowed.size(), keep,
                    [&]() REQUIRES(mutex_) { return carrier_->write(header, borrowed); });
}

// Sends first, so that the other side receives while this side copies.
template <class Keep, class Send>
bool ResumableWriter::write_kept(std::size_t size, Keep&& keep, Send&& send) {
  if (writers_wait_ && !await_room()) return false;
  MutexLock lock(mutex_);
  if (ended()) return false;
  const bool is_next = adopt_carrier() && sent_ == kept_.end();
  offer(size);
  kept_.drop_until(acknowledged_.count());
  const bool is_sent = is_next && send();
  try {
    keep();
  } catch (const std::bad_alloc&) {
    handover_.end(kNoMemory);
    return false;
  }
  count_sent();
  if (kept_.owned() > kReplayBytesMax) is_crowded();
  if (is_sent) {
    sent_ += size;
    return true;
  }
  if (is_next) {
    drop_carrier();
  } else if (carrier_ != nullptr) {
    send_kept();
  }
  return carrier_ != nullptr || !ended();  // kept bytes are sent later, unless the stream has ended
}

std::ptrdiff_t ResumableWriter::try_write(Bytes from) {
  MutexLock lock(mutex_);
  if (is_crowded()) return ended() ? -1 : 0;
  if (!adopt_carrier()) return ended() ? -1 : 0;
  std::ptrdiff_t count = 0;
  while (sent_ < kept_.end() && count >= 0) {
    count = carrier_->try_write(kept_.at(sent_));
    if (count == 0) return 0;
    if (count > 0) sent_ += static_cast<std::uint64_t>(count);
  }
  offer(from.size());
  if (count >= 0) count = carrier_->try_write(from);
  if (count < 0) {
    drop_carrier();
    return ended() ? -1 : 0;
  }
  const auto size = static_cast<std::size_t>(count);
  try {
    kept_.append(from.first(size));
  } catch (const std::bad_alloc&) {
    handover_.end(kNoMemory);
    return -1;
  }
  sent_ += size;
  count_sent();
  return count;
}

// Copying costs as much as sending. If the other side is near, its acknowledgement comes sooner.
void ResumableWriter::reclaim(std::uint64_t position) {
  if (acknowledged_bytes() >= position) return;
  const auto is_due = [&] { return acknowledged_.count() < position && !ended(); };
  MutexLock lock(mutex_);
  if (impatient_ > 0) {
    --impatient_;
  } else {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (is_due() && room_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
    }
    if (is_due()) impatient_ = kImpatient;
  }
  while (is_due() && broken()) room_.wait_for(mutex_, kMissedAfter);
  kept_.drop_until(acknowledged_.count());
  if (!ended()) kept_.own_borrowed(position, acknowledged_);  // otherwise nobody reads it again
  is_crowded();
}

void ResumableWriter::await_writable(std::chrono::milliseconds time) {
  std::shared_ptr<Connection> carrier;
  {
    MutexLock lock(mutex_);
    if (is_crowded()) {
      if (!ended()) room_.wait_for(mutex_, std::min(time, kMissedAfter));
      return;
    }
    if (adopt_carrier()) carrier = carrier_;
  }
  carrier ? carrier->await_writable(time) : handover_.await_change(time);
}

bool ResumableWriter::acknowledged(std::uint64_t bytes) {
  // Takes no lock that a writer holds while it sends, because it may be blocked until this thread reads on.
  if (bytes > offered_.load(std::memory_order_acquire)) return false;
  acknowledged_.raise_to(bytes);
  wake();
  return true;
}

ResumableWriter::Fit ResumableWriter::fit(std::uint64_t peer_received) {
  MutexLock lock(mutex_);
  return fit_of(peer_received);
}

ResumableWriter::Fit ResumableWriter::fit_of(std::uint64_t peer_received) const {
  if (peer_received > kept_.end()) return Fit::kNeverSent;
  return peer_received < kept_.begin() ? Fit::kOutdated : Fit::kFits;
}

bool ResumableWriter::resume(std::uint64_t attempt, std::shared_ptr<Connection> carrier, std::uint64_t peer_received) {
  {
    MutexLock lock(mutex_);  // so that what the other side lacks is still kept
    if (fit_of(peer_received) != Fit::kFits) return false;
    if (!handover_.resume(attempt, std::move(carrier), peer_received)) return false;
  }
  if (!acknowledged(peer_received)) return false;
  send_backlog();
  return true;
}

// Sends kept bytes without holding the lock while it waits, so that writers that must not block get their
// turn.
void ResumableWriter::send_backlog() {
  for (;;) {
    std::shared_ptr<Connection> carrier;
    {
      MutexLock lock(mutex_);
      if (!adopt_carrier() || sent_ == kept_.end()) return;
      const std::ptrdiff_t count = carrier_->try_write(kept_.at(sent_));
      if (count < 0) return drop_carrier();
      sent_ += static_cast<std::uint64_t>(count);
      if (count > 0) continue;
      carrier = carrier_;
    }
    carrier->await_writable(std::chrono::milliseconds(100));
  }
}

void ResumableWriter::release() {
  std::shared_ptr<Connection> carrier;
  MutexLock lock(mutex_);
  carrier.swap(carrier_);
  kept_ = {};
  may_be_crowded_ = false;
}

}  // namespace remotecl
