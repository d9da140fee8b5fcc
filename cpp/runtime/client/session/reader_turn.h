#pragma once

#include <atomic>
#include <functional>

#include "runtime/base/stoppable_thread.h"
#include "runtime/client/session/channel_session.h"

namespace remotecl {

// Decides which thread reads a channel: the session's reader or, while transfers are also expected on other
// channels, the channel's own thread, which starts on first use. Owned by the channel. Any thread.
class ReaderTurn {
 public:
  // `read` reads the channel on the calling thread as long as is_expecting().
  ReaderTurn(ChannelSession& session, std::function<void()> read) : session_(session), read_(std::move(read)) {}
  ReaderTurn(const ReaderTurn&) = delete;
  ReaderTurn& operator=(const ReaderTurn&) = delete;

  // A large transfer will come, or has ended.
  void expect() EXCLUDES(thread_.mutex);
  void stop_expecting();
  bool is_expecting() const { return expected_.load() > 0; }
  // The session's reader polls and reads the channel between these calls. enter() returns false if the
  // channel's own thread reads.
  bool enter() EXCLUDES(thread_.mutex);
  void leave() EXCLUDES(thread_.mutex);

  // Whether the session's reader would read the channel now.
  bool is_for_session() const EXCLUDES(thread_.mutex) {
    const MutexLock lock(thread_.mutex);
    return reader_ == Reader::kSession;
  }

  // The channel's own thread takes no more turns.
  void shutdown() { thread_.request_stop(); }
  // Ends that thread. The transport must have been shut down.
  void stop() { thread_.stop(); }

 private:
  // kOwnNext: the channel's own thread begins once the session's reader has left.
  enum class Reader { kSession, kOwnNext, kOwn };

  void run() EXCLUDES(thread_.mutex);

  ChannelSession& session_;
  const std::function<void()> read_;
  std::atomic<int> expected_{0};  // number of large transfers to this process
  Reader reader_ GUARDED_BY(thread_.mutex) = Reader::kSession;
  bool is_entered_ GUARDED_BY(thread_.mutex) = false;  // by the session's reader
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl
