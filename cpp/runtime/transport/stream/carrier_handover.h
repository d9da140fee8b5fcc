#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Knows which connection carries a stream now. When that connection breaks, another one replaces it within a
// time window, or the stream ends. Any thread. Its mutex is the innermost one.
class CarrierHandover {
 public:
  enum class State { kCarried, kBroken, kEnded };
  // The carrier has broken, or is left for another one, or the stream has ended. Called without the mutex; must neither
  // block nor use this object.
  using Lost = std::function<void(State)>;

  // Throws std::system_error if the process is out of descriptors.
  CarrierHandover(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window, Lost lost);
  ~CarrierHandover();
  CarrierHandover(const CarrierHandover&) = delete;
  CarrierHandover& operator=(const CarrierHandover&) = delete;

  // Null while there is none.
  std::shared_ptr<Connection> carrier() const EXCLUDES(mutex_);
  // Counts the connections that have carried the stream. Reader and writer each take the carrier when this
  // has changed.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  struct Carrier {
    std::uint64_t generation;
    std::shared_ptr<Connection> connection;  // null: it has already broken
    std::uint64_t resume_at;                 // the position of the stream where writing continues
  };
  // Called by the reading thread: from now on wake_handle() waits for the next carrier.
  Carrier take_for_reader() EXCLUDES(mutex_);
  Carrier take_for_writer() const EXCLUDES(mutex_);

  // The caller has noticed that this connection has broken. Ignored if it is no longer the carrier.
  void broke(const std::shared_ptr<Connection>& carrier) EXCLUDES(mutex_) { leave(carrier); }
  // Ends the stream for good. Ignored if it has already ended.
  void end(const std::string& reason) EXCLUDES(mutex_);

  // The first step of a handover. Only the latest attempt can succeed.
  struct Attempt {
    std::uint64_t number;
    std::uint64_t generation;  // of the carrier that it leaves
  };
  Attempt begin_attempt() EXCLUDES(mutex_);
  // The second step. Returns false if a later attempt has begun, or if the stream does not wait for a
  // carrier.
  bool resume(std::uint64_t attempt, std::shared_ptr<Connection> carrier, std::uint64_t resume_at) EXCLUDES(mutex_);

  // Waits for a while, on the reading thread. kCarried: the carrier is newer than `generation`.
  State await_after(std::uint64_t generation, std::chrono::milliseconds time) EXCLUDES(mutex_);
  // Waits for a carrier if there is none.
  void await_change(std::chrono::milliseconds time) EXCLUDES(mutex_);
  // An eventfd for poll(): readable when there is a carrier that the reader has not taken, or never will be one. -1
  // after release().
  int wake_handle() const { return wake_; }
  // After the end: closes the descriptor.
  void release() EXCLUDES(mutex_);

  bool is(State state) const EXCLUDES(mutex_);
  // Returns true if the stream has been without a carrier for longer than the window.
  bool is_overdue() const EXCLUDES(mutex_);
  // Why the stream has ended, for users; empty if it was shut down, or ended with its connection.
  std::string reason() const EXCLUDES(mutex_);
  std::chrono::steady_clock::time_point broken_since() const EXCLUDES(mutex_);
  // Returns true if the last carrier that broke did so because the other machine stopped answering.
  bool vanished() const { return vanished_.load(std::memory_order_relaxed); }
  // From now on a broken carrier ends the stream. Returns true if the stream is without a carrier already.
  bool end_when_broken() EXCLUDES(mutex_);
  void set_window(std::chrono::milliseconds window) EXCLUDES(mutex_);

 private:
  void leave(const std::shared_ptr<Connection>& carrier) EXCLUDES(mutex_);
  void signal_reader() REQUIRES(mutex_);

  const Lost lost_;
  int wake_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  State state_ GUARDED_BY(mutex_) = State::kCarried;
  std::shared_ptr<Connection> carrier_ GUARDED_BY(mutex_);
  std::uint64_t resume_at_ GUARDED_BY(mutex_) = 0;
  std::uint64_t attempts_ GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point broken_since_ GUARDED_BY(mutex_);
  std::chrono::milliseconds window_ GUARDED_BY(mutex_);
  bool ends_when_broken_ GUARDED_BY(mutex_) = false;
  std::string reason_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> generation_{1};  // written with mutex_
  std::atomic<bool> vanished_{false};
};

}  // namespace remotecl
