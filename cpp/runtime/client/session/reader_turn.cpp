#include "runtime/client/session/reader_turn.h"

#include <system_error>

namespace remotecl {

// If no other channel expects anything, the thread that waits for the transfer reads the channel, without a
// hand-off.
void ReaderTurn::expect() {
  if (expected_.fetch_add(1) != 0 || !session_.begin_expecting()) return;
  bool is_entered = false;
  {
    const MutexLock lock(mutex_);
    if (reader_ != Reader::kSession || is_over_) return;
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        return;  // the session's reader serves the channels one after the other
      }
    }
    reader_ = Reader::kOwnNext;
    changed_.notify_all();
    is_entered = is_entered_;
  }
  if (is_entered) session_.stop_polling();
}

void ReaderTurn::stop_expecting() {
  if (expected_.fetch_sub(1) == 1) session_.end_expecting();
}

bool ReaderTurn::enter() {
  const MutexLock lock(mutex_);
  is_entered_ = reader_ == Reader::kSession;
  return is_entered_;
}

void ReaderTurn::leave() {
  const MutexLock lock(mutex_);
  is_entered_ = false;
  if (reader_ == Reader::kOwnNext) changed_.notify_all();
}

void ReaderTurn::run() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      while (!is_over_ && (reader_ != Reader::kOwnNext || is_entered_)) changed_.wait(mutex_);
      if (is_over_) return;
      reader_ = Reader::kOwn;
    }
    read_();
    {
      const MutexLock lock(mutex_);
      reader_ = Reader::kSession;
    }
    session_.stop_polling();  // the session's reader has one more connection to poll
  }
}

void ReaderTurn::shutdown() {
  const MutexLock lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void ReaderTurn::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

}  // namespace remotecl
