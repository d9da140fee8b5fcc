#include "runtime/client/session/reader_turn.h"

#include <system_error>

namespace remotecl {

// If no other channel expects anything, the thread that waits for the transfer reads the channel, without a
// hand-off.
void ReaderTurn::expect() {
  if (expected_.fetch_add(1) != 0 || !session_.begin_expecting()) return;
  bool is_entered = false;
  {
    const MutexLock lock(thread_.mutex);
    if (reader_ != Reader::kSession || thread_.is_stopping()) return;
    try {
      thread_.start();
    } catch (const std::system_error&) {
      return;  // the session's reader serves the channels one after the other
    }
    reader_ = Reader::kOwnNext;
    thread_.wake();
    is_entered = is_entered_;
  }
  if (is_entered) session_.stop_polling();
}

void ReaderTurn::stop_expecting() {
  if (expected_.fetch_sub(1) == 1) session_.end_expecting();
}

bool ReaderTurn::enter() {
  const MutexLock lock(thread_.mutex);
  is_entered_ = reader_ == Reader::kSession;
  return is_entered_;
}

void ReaderTurn::leave() {
  const MutexLock lock(thread_.mutex);
  is_entered_ = false;
  if (reader_ == Reader::kOwnNext) thread_.wake();
}

void ReaderTurn::run() {
  for (;;) {
    {
      const MutexLock lock(thread_.mutex);
      while (!thread_.is_stopping() && (reader_ != Reader::kOwnNext || is_entered_)) thread_.wait();
      if (thread_.is_stopping()) return;
      reader_ = Reader::kOwn;
    }
    read_();
    {
      const MutexLock lock(thread_.mutex);
      reader_ = Reader::kSession;
    }
    session_.stop_polling();  // the session's reader has one more connection to poll
  }
}

}  // namespace remotecl
