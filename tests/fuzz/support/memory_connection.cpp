#include "support/memory_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remotecl::fuzz {

void Pipe::feed(Bytes bytes) {
  MutexLock lock(mutex_);
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(std::exchange(read_, 0)));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  changed_.notify_all();
}

void Pipe::end() {
  MutexLock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

void Pipe::wait_until_read(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (!is_shut_down_ && !(read_ == bytes_.size() && reader_waits_)) {
    if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return;
  }
}

bool Pipe::is_shut_down() const {
  MutexLock lock(mutex_);
  return is_shut_down_;
}

std::size_t MemoryConnection::read_some(MutableBytes to) {
  for (;;) {
    const std::ptrdiff_t count = try_read_some(to);
    if (count >= 0) return static_cast<std::size_t>(count);
    MutexLock lock(pipe_->mutex_);
    pipe_->reader_waits_ = true;
    pipe_->changed_.notify_all();
    while (pipe_->read_ == pipe_->bytes_.size() && !pipe_->has_ended_ && !pipe_->is_shut_down_) {
      pipe_->changed_.wait(pipe_->mutex_);
    }
    pipe_->reader_waits_ = false;
  }
}

std::ptrdiff_t MemoryConnection::try_read_some(MutableBytes to) {
  MutexLock lock(pipe_->mutex_);
  if (pipe_->is_shut_down_) return 0;
  const std::size_t count = std::min(to.size(), pipe_->bytes_.size() - pipe_->read_);
  if (count == 0) return pipe_->has_ended_ ? 0 : -1;
  std::memcpy(to.data(), pipe_->bytes_.data() + pipe_->read_, count);
  pipe_->read_ += count;
  bytes_received_.fetch_add(count, std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(count);
}

bool MemoryConnection::write(iovec* parts, int count) {
  for (int i = 0; i < count; ++i) {
    if (try_write({static_cast<const std::byte*>(parts[i].iov_base), parts[i].iov_len}) < 0) return false;
  }
  return true;
}

std::ptrdiff_t MemoryConnection::try_write(Bytes from) {
  if (pipe_->is_shut_down()) return -1;
  pipe_->taken_(from);
  bytes_sent_.fetch_add(from.size(), std::memory_order_relaxed);
  return static_cast<std::ptrdiff_t>(from.size());
}

void MemoryConnection::shutdown() {
  MutexLock lock(pipe_->mutex_);
  pipe_->is_shut_down_ = true;
  pipe_->changed_.notify_all();
}

}  // namespace remotecl::fuzz
