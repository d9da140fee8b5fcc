// Who reads a channel.
#include <poll.h>

#include <system_error>

#include "runtime/client/session/bulk_channel.h"

namespace remotecl {

// The only channel on which something is expected is read by whoever waits for it: that costs no hand-off.
void BulkChannel::expect() {
  if (expected_.fetch_add(1) != 0 || !session_.begin_expecting()) return;
  bool is_entered = false;
  {
    const MutexLock lock(reader_mutex_);
    if (reader_ != Reader::kSession || ended_) return;
    if (!reader_thread_.joinable()) {
      try {
        reader_thread_ = std::thread([this] { run_reader(); });
      } catch (const std::system_error&) {
        return;  // one after the other, then
      }
    }
    reader_ = Reader::kOwnNext;
    reader_changed_.notify_all();
    is_entered = entered_;
  }
  if (is_entered) session_.stop_polling();
}

void BulkChannel::stop_expecting() {
  if (expected_.fetch_sub(1) == 1) session_.end_expecting();
}

bool BulkChannel::enter() {
  const MutexLock lock(reader_mutex_);
  entered_ = reader_ == Reader::kSession;
  return entered_;
}

void BulkChannel::leave() {
  const MutexLock lock(reader_mutex_);
  entered_ = false;
  if (reader_ == Reader::kOwnNext) reader_changed_.notify_all();
}

void BulkChannel::run_reader() {
  for (;;) {
    {
      const MutexLock lock(reader_mutex_);
      while (!ended_ && (reader_ != Reader::kOwnNext || entered_)) reader_changed_.wait(reader_mutex_);
      if (ended_) return;
      reader_ = Reader::kOwn;
    }
    read_what_is_expected();
    {
      const MutexLock lock(reader_mutex_);
      reader_ = Reader::kSession;
    }
    session_.stop_polling();  // the session's reader has a connection more to wait for
  }
}

// Of a stream that has ended the session's reader finds the end once more, and does the rest.
void BulkChannel::read_what_is_expected() {
  while (expected_.load() > 0) {
    const std::uint64_t before = received();
    pollfd wait{transport_->wait_handle(), POLLIN, 0};
    if (::poll(&wait, 1, -1) <= 0) continue;
    if (!session_.read_apart(*this)) return transport_->shutdown();
    if (received() != before) session_.wake();
  }
}

}  // namespace remotecl
