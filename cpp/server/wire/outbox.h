#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/connection.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// Replies on their way to the client's control connection. Any thread adds and flushes, a driver's callback
// too: nothing here blocks on a slow client. What the socket does not take is kept, within a bound, and
// written by a thread that is made for that case. Owned by a session; the connection outlives it.
class Outbox {
 public:
  Outbox(Connection& connection, const Ref<SessionCounters>& counters) : connection_(connection), held_(counters) {}
  ~Outbox() { stop(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Added to what the next flush() writes.
  template <class Message>
  void add(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    append_message(pending_, message);
    count_message();
    urgent_ = true;
    if (pending_.size() > kPendingBytesMax) flush_locked();
  }
  // As add(), but flush() may leave it until it has something better to do.
  template <class Message>
  void add_lazily(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    append_message(pending_, message);
    count_message();
    urgent_ = urgent_ || pending_.size() - written_ >= kLazyBytesMax;
  }
  // Somebody waits for what was added lazily.
  void hurry() EXCLUDES(mutex_);
  void add_encoded(Bytes message) EXCLUDES(mutex_);
  void flush() EXCLUDES(mutex_);

  template <class Message>
  void send(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    append_message(pending_, message);
    count_message();
    urgent_ = true;
    flush_locked();
  }

  // The last message: whatever else is added from now on is dropped.
  template <class Message>
  void close_with(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    append_message(pending_, message);
    count_message();
    urgent_ = true;
    flush_locked();
    closed_ = true;
    wake_.notify_all();
  }

  // Counts bytes that a command on its way will add, until the token and its copies are gone.
  using Promise = std::shared_ptr<const void>;
  Promise promise(std::uint64_t size);
  // So much is promised and unwritten that small data should take the road of bulk data, where who receives it sets the
  // pace.
  bool is_crowded() EXCLUDES(mutex_);
  // Waits until at most `bytes_max` are unwritten, but not longer than `patience`. How many are unwritten then; none
  // when the outbox is closed.
  std::size_t wait_for_room(std::size_t bytes_max, std::chrono::milliseconds patience) EXCLUDES(mutex_);

  // From now on everything is dropped. stop() also ends the flushing thread.
  void close() EXCLUDES(mutex_);
  void stop() EXCLUDES(mutex_);

  // Messages that were added.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kPendingBytesMax = 2 * std::size_t{kMessageSizeMax};
  static constexpr std::uint64_t kSmallBytesMax = 32u << 20;
  static constexpr std::size_t kHeldPayloadMax = 1u << 20;
  static constexpr std::size_t kLazyBytesMax = 4u << 10;

  void count_message() REQUIRES(mutex_) {
    messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void flush_locked() REQUIRES(mutex_);
  // False: it is too much.
  bool count_pending() REQUIRES(mutex_);
  void write_some() REQUIRES(mutex_);
  void run_flusher() EXCLUDES(mutex_);

  Connection& connection_;
  const std::shared_ptr<std::atomic<std::uint64_t>> promised_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint64_t> messages_{0};  // written with the lock
  Mutex mutex_;
  ConditionVariable wake_;
  ConditionVariable written_some_;
  ByteBuffer pending_ GUARDED_BY(mutex_);
  HeldMemory held_ GUARDED_BY(mutex_);          // by pending_, while the client does not take it
  std::size_t written_ GUARDED_BY(mutex_) = 0;  // of pending_
  bool urgent_ GUARDED_BY(mutex_) = false;      // not all of it was added lazily
  bool blocked_ GUARDED_BY(mutex_) = false;     // the flusher has the word
  bool closed_ GUARDED_BY(mutex_) = false;
  std::thread flusher_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
