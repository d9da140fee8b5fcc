#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/session/prompt_waits.h"
#include "runtime/client/session/submitter.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The writing side of a session's control connection. Messages are batched here until they are worth a system
// call:
//
// - A command that is submitted after a short pause is sent at once.
// - Later commands are batched until there are many, until a flush, or until a thread of the process begins
//   to wait.
// - What none of these sends, the Submitter sends soon after the application has stopped adding messages.
// - A program that repeatedly waits right after its commands is expected to do so again: all of its commands
//   are batched, and each wait costs one system call. The Submitter notices if that was wrong.
//
// Shared by the session and the Submitter. Any thread. One thread at a time writes, without holding the lock,
// while others append; it also writes what they want to be sent at once.
class ControlWriter {
 public:
  // Throws std::system_error if the Submitter cannot start.
  ControlWriter(std::shared_ptr<Connection> connection, Submitter& submitter)
      : submitter_(submitter), connection_(std::move(connection)) {
    submitter_.start();
  }
  ~ControlWriter() {
    if (is_filled_.load()) submitter_.writer_emptied();
  }
  ControlWriter(const ControlWriter&) = delete;
  ControlWriter& operator=(const ControlWriter&) = delete;

  // Adds a message that stays here until submit(), flush() or a wait. Never blocks.
  template <class Message>
  void append(const Message& message, std::uint16_t flags = 0) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    add(message, flags);
  }
  // Adds a message that the Submitter sends, unless it is sent before. Never blocks.
  template <class Message>
  void send(const Message& message, std::uint16_t flags = 0) EXCLUDES(mutex_) {
    bool is_news = false, is_much = false;
    {
      const MutexLock lock(mutex_);
      add(message, flags);
      is_much = gathered_.size() >= kWorthSending && !is_blocked_;
      is_news = !std::exchange(is_awaited_, true);
    }
    if (is_much) return submit_now();
    if (is_news) wake_submitter(submitter_.cheap_delay());
  }
  // Called after a command, by the thread that has appended it. Blocks only if far too much has been batched.
  void submit() {
    const bool is_gathering = gathers_.load(std::memory_order_relaxed);
    if (!is_gathering || gathered_size_.load(std::memory_order_relaxed) >= kWorthSending) [[unlikely]]
      submit_slowly();
  }
  // The process is about to end: sends this and all batched messages, or does nothing if that would block.
  template <class Message>
  void send_last(const Message& message) EXCLUDES(mutex_) {
    if (!mutex_.try_lock()) return;
    {
      const MutexLock lock(mutex_, AdoptLock{});
      add(message, 0);
    }
    submit_now();
  }
  // Sends as much as the socket takes without blocking.
  void submit_now() EXCLUDES(mutex_);
  // The same for a thread that waits for something else. Leaves a full socket to the Submitter.
  void submit_beside() EXCLUDES(mutex_);
  // The same for the Submitter, which does not retry a full socket for a while.
  void submit_due() EXCLUDES(mutex_);
  // The application flushes or waits: sends everything that has been appended, blocking as needed, or leaves
  // that to a thread that is already writing.
  void flush() EXCLUDES(mutex_);
  // The connection has ended: releases it once no thread writes. Later messages are dropped.
  void close() EXCLUDES(mutex_);

  std::uint64_t messages() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return messages_;
  }

 private:
  // From this size on, a system call costs less than letting the server wait.
  static constexpr std::size_t kWorthSending = 16u << 10;
  // Above this size, a submitting thread waits for the socket.
  static constexpr std::size_t kGatheredMax = 1u << 20;
  static constexpr std::size_t kBufferKeptMax = 1u << 20;
  // A command is sent at once if nothing has been sent for this long.
  static constexpr std::chrono::microseconds kQuiet{50};
  // Limits how long commands are batched while the application does nothing. The time that the Submitter's
  // thread needs to wake up is added. Grows to Submitter::cheap_delay() while the application keeps adding
  // commands.
  static constexpr std::chrono::microseconds kDelayMin{30};
  // How long to wait before a full socket is tried again.
  static constexpr std::chrono::microseconds kRetryMin{1000}, kRetryMax{64'000};
  // How many rounds a thread goes on writing what others want to be written meanwhile.
  static constexpr int kRoundsMax = 4;

  enum class How { kBlocking, kNow };

  template <class Message>
  void add(const Message& message, std::uint16_t flags) REQUIRES(mutex_) {
    append_message(gathered_, message, flags);
    ++messages_;
    gathered_size_.store(gathered_.size(), std::memory_order_relaxed);
    if (!is_filled_.load(std::memory_order_relaxed)) note_filled(true);
  }
  void submit_slowly() EXCLUDES(mutex_);
  void write(How how) EXCLUDES(mutex_);
  bool write_some(How how) EXCLUDES(mutex_);
  void take_gathered() REQUIRES(mutex_);
  void drop_gathered() REQUIRES(mutex_);
  void note_filled(bool is_filled) REQUIRES(mutex_);
  void await_room() EXCLUDES(mutex_);
  void wake_submitter(std::chrono::microseconds delay);

  Submitter& submitter_;
  std::shared_ptr<Connection> connection_;  // used by the writing thread; null: closed

  mutable Mutex mutex_;
  ConditionVariable written_;
  ByteBuffer gathered_ GUARDED_BY(mutex_);
  std::uint64_t messages_ GUARDED_BY(mutex_) = 0;
  bool is_awaited_ GUARDED_BY(mutex_) = false;  // the Submitter will look at the batch
  bool is_writing_ GUARDED_BY(mutex_) = false;
  How writes_ GUARDED_BY(mutex_) = How::kNow;   // valid while is_writing_
  bool is_wanted_ GUARDED_BY(mutex_) = false;   // the batch is to be written now
  bool is_blocked_ GUARDED_BY(mutex_) = false;  // the socket is full; the Submitter tries again
  std::int64_t written_ns_ GUARDED_BY(mutex_) = 0;
  PromptWaits prompt_waits_ GUARDED_BY(mutex_);
  std::chrono::microseconds delay_ GUARDED_BY(mutex_) = kDelayMin;
  std::chrono::microseconds retry_ GUARDED_BY(mutex_) = kRetryMin;
  // Used by the writing thread: the bytes being written, and how many of them have been.
  ByteBuffer leaving_;
  std::size_t left_ = 0;

  // Read by threads without the lock; written with it.
  std::atomic<bool> is_filled_{false};  // there is something to write
  std::atomic<std::size_t> gathered_size_{0};
  std::atomic<bool> gathers_{false};  // new commands join the batch
};

}  // namespace remotecl
