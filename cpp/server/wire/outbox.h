#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/connection.h"
#include "server/quota/held_memory.h"
#include "server/util/error_words.h"

namespace remotecl::server {

// Queues replies for the client's control connection. Any thread may add and flush, including a driver's
// callback, because nothing here blocks on a slow client: what the socket does not take is kept, within a
// bound, and a thread started for the purpose writes it. Owned by a session; the connection outlives it.
class Outbox {
 public:
  Outbox(Connection& connection, const Ref<SessionCounters>& counters)
      : connection_(connection),
        small_bytes_max_(std::min(kSmallBytesMax, counters->quota().limits().host / 8)),
        held_(counters) {
    pending_.reserve(kLazyBytesMax);  // so that the last words of a session fit where there is no memory
  }
  ~Outbox() { stop(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Keeps everything back until begin(), which calls `send` for what comes before all messages. Call it before any
  // other thread uses the outbox.
  void hold() EXCLUDES(mutex_);
  void begin(const std::function<void()>& send) EXCLUDES(mutex_);

  // Queues a message for the next flush().
  template <class Message>
  void add(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    if (!append(message)) return;
    urgent_ = true;
    if (pending_.size() > kPendingBytesMax) flush_locked();
  }
  // Like add(), but flush() may postpone the message as long as nothing is urgent.
  template <class Message>
  void add_lazily(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    if (!append(message)) return;
    urgent_ = urgent_ || pending_.size() - written_ >= kLazyBytesMax;
  }
  // Makes lazily added messages urgent, because somebody waits for them.
  void hurry() EXCLUDES(mutex_);
  void add_encoded(Bytes message) EXCLUDES(mutex_);
  void flush() EXCLUDES(mutex_);

  template <class Message>
  void send(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    if (!append(message)) return;
    urgent_ = true;
    flush_locked();
  }

  // For what will be sent again later: returns false and keeps nothing while the client does not read.
  template <class Message>
  bool try_send(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (blocked_) return closed_;
    if (closed_ || !append(message)) return true;
    urgent_ = true;
    flush_locked();
    return true;
  }

  // Sends the last message; anything added later is dropped.
  template <class Message>
  void close_with(const Message& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return;
    if (!append(message)) return;
    urgent_ = true;
    flush_locked();
    closed_ = true;
    wake_.notify_all();
  }

  // Reserves room for the bytes that a pending command will add, until the token and its copies are
  // destroyed.
  using Reservation = std::shared_ptr<const void>;
  Reservation reserve(std::uint64_t size);
  // Whether so much is reserved or unwritten that small data should take the bulk route, where the receiver
  // sets the speed.
  bool is_crowded() EXCLUDES(mutex_);
  // For callers that can keep their data: returns true if so much is unwritten that they should. Then the function set
  // by when_drained() is called on the flushing thread once all is written.
  bool is_behind() EXCLUDES(mutex_);
  // Call it before any other thread uses the outbox. `drained` may call the outbox, but not stop().
  void when_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  // Waits until at most `bytes_max` are unwritten, or for `patience`. Returns how many are then unwritten; 0
  // if the outbox is closed.
  std::size_t wait_for_room(std::size_t bytes_max, std::chrono::milliseconds patience) EXCLUDES(mutex_);

  // Why it closed the connection itself, as text for the client; empty if it did not.
  std::string failure() const EXCLUDES(mutex_);

  // Drops everything from now on. stop() also ends the flushing thread.
  void close() EXCLUDES(mutex_);
  void stop() EXCLUDES(mutex_);

  // How many messages were added.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kPendingBytesMax = 2 * std::size_t{kMessageSizeMax};
  static constexpr std::uint64_t kSmallBytesMax = 32u << 20;
  static constexpr std::size_t kBehind = 1u << 20;
  static constexpr std::size_t kHeldPayloadMax = 1u << 20;
  static constexpr std::size_t kLazyBytesMax = 4u << 10;

  // Returns false where there is no memory for the message: without it, the client would wait for ever. So the
  // connection ends, whoever adds, be it a callback of the driver's.
  template <class Message>
  bool append(const Message& message) REQUIRES(mutex_) {
    try {
      append_message(pending_, message);
    } catch (const std::bad_alloc& error) {
      fail(words_of(error));
      return false;
    }
    count_message();
    return true;
  }
  void count_message() REQUIRES(mutex_) {
    messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void flush_locked() REQUIRES(mutex_);
  void fail(std::string why) REQUIRES(mutex_);
  // Returns false if the session holds too much.
  bool count_pending() REQUIRES(mutex_);
  void write_some() REQUIRES(mutex_);
  void run_flusher() EXCLUDES(mutex_);
  void flush_in_background() EXCLUDES(mutex_);

  Connection& connection_;
  const std::uint64_t small_bytes_max_;  // far below what the session may hold
  std::function<void()> drained_;
  const std::shared_ptr<std::atomic<std::uint64_t>> reserved_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint64_t> messages_{0};  // written with the lock
  mutable Mutex mutex_;
  ConditionVariable wake_;
  ConditionVariable written_some_;
  ByteBuffer pending_ GUARDED_BY(mutex_);
  HeldMemory held_ GUARDED_BY(mutex_);          // counts pending_ while the client does not read it
  std::size_t written_ GUARDED_BY(mutex_) = 0;  // how much of pending_
  bool urgent_ GUARDED_BY(mutex_) = false;      // something was added that is not lazy
  bool blocked_ GUARDED_BY(mutex_) = false;     // only the flushing thread writes
  bool closed_ GUARDED_BY(mutex_) = false;
  std::string failure_ GUARDED_BY(mutex_);
  bool drain_is_awaited_ GUARDED_BY(mutex_) = false;
  std::thread flusher_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
