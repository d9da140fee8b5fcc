#include "server/wire/outbox.h"

#include <exception>

namespace remotecl::server {

void Outbox::add_encoded(Bytes message) {
  MutexLock lock(mutex_);
  if (closed_) return;
  try {
    pending_.append(message);
  } catch (const std::bad_alloc& error) {
    return fail(words_of(error));
  }
  count_message();
  urgent_ = true;
}

Outbox::Reservation Outbox::reserve(std::uint64_t size) {
  *reserved_ += size;
  return {reserved_.get(), [reserved = reserved_, size](const void*) { *reserved -= size; }};
}

bool Outbox::is_crowded() {
  MutexLock lock(mutex_);
  return *reserved_ + pending_.size() - written_ > small_bytes_max_;
}

void Outbox::hold() {
  MutexLock lock(mutex_);
  blocked_ = true;
}

void Outbox::begin(const std::function<void()>& send) {
  MutexLock lock(mutex_);
  send();
  blocked_ = false;
  closed_ ? write_some() : flush_locked();
}

void Outbox::hurry() {
  MutexLock lock(mutex_);
  urgent_ = !pending_.empty();
}

void Outbox::flush() {
  MutexLock lock(mutex_);
  flush_locked();
}

void Outbox::flush_locked() {
  if (closed_ || pending_.empty() || !urgent_) return;
  if (!blocked_) write_some();
  if (pending_.size() - written_ > kPendingBytesMax) {
    fail("this program does not read the server's replies");
  } else if (!count_pending()) {
    fail(
        "the replies that this program has not read yet are more than the limit host-memory allows; enqueue fewer "
        "commands at a time, or ask whoever runs the server for a higher limit");
  }
  if (closed_ || pending_.empty() || blocked_) return;
  blocked_ = true;
  if (!flusher_.joinable()) {
    try {
      flusher_ = std::thread([this] { run_flusher(); });
    } catch (const std::exception& error) {
      return fail("the server has no thread to send replies: " + words_of(error));
    }
  }
  wake_.notify_one();
}

void Outbox::fail(std::string why) {
  failure_ = std::move(why);
  closed_ = true;
  connection_.shutdown();
}

std::string Outbox::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

bool Outbox::count_pending() {
  return held_.try_follow(pending_.capacity() > kHeldPayloadMax ? pending_.capacity() : 0);
}

void Outbox::write_some() {
  while (written_ < pending_.size()) {
    const std::ptrdiff_t count = connection_.try_write(pending_.bytes().subspan(written_));
    if (count < 0) {
      closed_ = true;  // the control thread notices the broken connection and ends the session
      return;
    }
    if (count == 0) return;
    written_ += static_cast<std::size_t>(count);
  }
  pending_.clear();
  pending_.shrink(kHeldPayloadMax);
  written_ = 0;
  urgent_ = false;
}

bool Outbox::is_behind() {
  MutexLock lock(mutex_);
  drain_is_awaited_ |= blocked_ && !closed_ && pending_.size() - written_ > kBehind;
  return drain_is_awaited_;
}

void Outbox::run_flusher() {
  try {
    flush_in_background();
  } catch (const std::exception& error) {
    MutexLock lock(mutex_);
    fail(words_of(error));
  }
}

void Outbox::flush_in_background() {
  for (bool drained = false;; drained = false) {
    {
      MutexLock lock(mutex_);
      while (!blocked_ && !closed_) wake_.wait(mutex_);
      if (closed_) return;
    }
    connection_.await_writable(std::chrono::milliseconds(1000));  // shutdown() ends this wait too
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      write_some();
      written_some_.notify_all();
      if (written_ > pending_.size() / 2) {
        pending_.consume(written_);
        written_ = 0;
      }
      if (pending_.empty()) {
        blocked_ = false;
        drained = std::exchange(drain_is_awaited_, false);
      }
      count_pending();
    }
    if (drained) drained_();
  }
}

std::size_t Outbox::wait_for_room(std::size_t bytes_max, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (!closed_ && pending_.size() - written_ > bytes_max) {
    if (written_some_.wait_until(mutex_, end) == std::cv_status::timeout) break;
  }
  return closed_ ? 0 : pending_.size() - written_;
}

void Outbox::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  written_some_.notify_all();
  wake_.notify_all();
}

void Outbox::stop() {
  std::thread flusher;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    flusher.swap(flusher_);
    wake_.notify_all();
  }
  if (flusher.joinable()) flusher.join();
}

}  // namespace remotecl::server
