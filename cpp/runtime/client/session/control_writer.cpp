#include "runtime/client/session/control_writer.h"

#include <algorithm>
#include <exception>

namespace remotecl {
namespace {

std::int64_t ns_of(std::chrono::microseconds time) { return std::chrono::nanoseconds(time).count(); }

}  // namespace

void ControlWriter::note_filled(bool is_filled) {
  if (connection_ == nullptr) is_filled = false;
  if (is_filled_.exchange(is_filled) == is_filled) return;
  is_filled ? submitter_.writer_filled() : submitter_.writer_emptied();
}

void ControlWriter::wake_submitter(std::chrono::microseconds delay) {
  submitter_.wake_by(Submitter::now_ns() + ns_of(delay));
}

void ControlWriter::submit_slowly() {
  const std::int64_t now_ns = Submitter::now_ns();
  std::chrono::microseconds delay{0};
  bool is_too_much = false;
  {
    const MutexLock lock(mutex_);
    prompt_waits_.add_command(now_ns);
    const std::size_t size = gathered_.size();
    is_too_much = size >= kGatheredMax;
    // The Submitter sends what is batched while a thread writes or the socket is full.
    if (size == 0 || ((is_writing_ || is_blocked_) && !is_too_much)) return;
    const bool expects_wait = prompt_waits_.expects_wait();
    if (size < kWorthSending && (expects_wait || now_ns - written_ns_ < ns_of(kQuiet))) {
      if (gathers_.exchange(true)) return;
      is_awaited_ = true;
      delay = expects_wait ? submitter_.cheap_delay() : delay_;
    }
  }
  if (delay.count() != 0) return wake_submitter(delay);
  is_too_much ? await_room() : write(How::kNow);
}

void ControlWriter::submit_now() {
  if (is_filled_.load()) write(How::kNow);
}

void ControlWriter::submit_beside() {
  if (!is_filled_.load()) return;
  {
    const MutexLock lock(mutex_);
    if (is_blocked_) return;
  }
  write(How::kNow);
}

void ControlWriter::submit_due() {
  if (!is_filled_.load()) return;
  {
    const MutexLock lock(mutex_);
    const std::int64_t retry_ns = written_ns_ + ns_of(retry_);
    if (is_blocked_ && Submitter::now_ns() < retry_ns) return submitter_.wake_by(retry_ns);
    prompt_waits_.add_pause();
  }
  write(How::kNow);
  const MutexLock lock(mutex_);
  delay_ = gathered_.empty() ? kDelayMin : std::min(2 * delay_, submitter_.cheap_delay());
}

void ControlWriter::flush() {
  {
    const MutexLock lock(mutex_);
    if (prompt_waits_.has_command()) prompt_waits_.add_wait(Submitter::now_ns());
  }
  if (is_filled_.load()) write(How::kBlocking);
}

void ControlWriter::await_room() {
  flush();
  const MutexLock lock(mutex_);
  while (is_writing_ && gathered_.size() >= kGatheredMax) written_.wait(mutex_);
}

void ControlWriter::close() {
  std::shared_ptr<Connection> gone;
  const MutexLock lock(mutex_);
  while (is_writing_) written_.wait(mutex_);
  gone.swap(connection_);
  drop_gathered();
}

void ControlWriter::drop_gathered() {
  take_gathered();
  leaving_.clear();
  leaving_.shrink(0);
  note_filled(false);
}

void ControlWriter::take_gathered() {
  leaving_.clear();
  leaving_.shrink(kBufferKeptMax);
  left_ = 0;
  std::swap(leaving_, gathered_);
  gathered_size_.store(0, std::memory_order_relaxed);
  gathers_.store(false, std::memory_order_relaxed);
  is_awaited_ = false;
}

void ControlWriter::write(How how) {
  bool is_blocked = false;
  mutex_.lock();
  is_wanted_ = true;
  // A thread that does not block may stop before everything is sent, but stops soon.
  while (is_writing_ && how == How::kBlocking && writes_ == How::kNow) written_.wait(mutex_);
  if (is_writing_) return mutex_.unlock();
  if (connection_ == nullptr) {
    drop_gathered();
    return mutex_.unlock();
  }
  is_writing_ = is_wanted_ = true;  // the thread before may have taken the batch that is wanted here, and sent a part
  writes_ = how;
  for (int round = 0; round < kRoundsMax && !is_blocked && is_wanted_; ++round) {
    if (left_ == leaving_.size()) {
      take_gathered();
      is_wanted_ = false;
    }
    if (leaving_.empty()) break;
    mutex_.unlock();
    is_blocked = !write_some(how);
    mutex_.lock();
    written_ns_ = Submitter::now_ns();
  }
  is_writing_ = false;
  retry_ = is_blocked_ && is_blocked ? std::min(2 * retry_, kRetryMax) : kRetryMin;
  is_blocked_ = is_blocked;
  const bool is_left = !gathered_.empty() || left_ != leaving_.size();
  note_filled(is_left);
  if (is_left) is_awaited_ = true;
  const std::chrono::microseconds delay = is_blocked ? retry_ : delay_;
  written_.notify_all();
  mutex_.unlock();
  if (is_left) wake_submitter(delay);
}

// Called by the writing thread. Returns false if the socket is full.
bool ControlWriter::write_some(How how) {
  const Bytes bytes = leaving_.bytes().subspan(left_);
  std::ptrdiff_t count = -1;
  try {
    if (how == How::kNow) {
      count = connection_->try_write(bytes);
    } else if (connection_->write(bytes)) {
      count = static_cast<std::ptrdiff_t>(bytes.size());
    }
  } catch (const std::exception&) {  // no memory; what has left of the bytes is not known
  }
  if (count < 0) {
    // The reader notices that the connection is closed and does the rest.
    connection_->shutdown();
    count = static_cast<std::ptrdiff_t>(bytes.size());
  }
  left_ += static_cast<std::size_t>(count);
  return left_ == leaving_.size();
}

}  // namespace remotecl
