#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/carrier_handover.h"
#include "runtime/transport/stream/replay_buffer.h"

namespace remotecl {

// The writing half of a stream that outlives its carriers: keeps written bytes until the other side has
// acknowledged them, and sends them again over the next carrier. One thread writes at a time; acknowledged()
// and the functions that only query may be called by any thread. The carrier is used under the mutex, which
// no other thread holds for long.
class ResumableWriter {
 public:
  // Both outlive it. `bytes_sent` receives the position of the stream.
  ResumableWriter(CarrierHandover& handover, std::atomic<std::uint64_t>& bytes_sent)
      : handover_(handover), bytes_sent_(bytes_sent) {}
  ResumableWriter(const ResumableWriter&) = delete;
  ResumableWriter& operator=(const ResumableWriter&) = delete;

  // See ResumableConnection for these functions.
  void make_writers_wait() { writers_wait_ = true; }
  bool write(iovec* parts, int count) EXCLUDES(mutex_);
  bool write_borrowed(Bytes header, Bytes borrowed) EXCLUDES(mutex_);
  std::ptrdiff_t try_write(Bytes from) EXCLUDES(mutex_);
  void reclaim(std::uint64_t position) EXCLUDES(mutex_);
  void await_writable(std::chrono::milliseconds time) EXCLUDES(mutex_);
  bool crowded() { return may_be_crowded_.load(std::memory_order_relaxed) && is_still_crowded(); }
  bool await_room() EXCLUDES(mutex_);

  std::uint64_t acknowledged_bytes() const { return acknowledged_.count(); }
  [[nodiscard]] bool acknowledged(std::uint64_t bytes);
  // Makes threads that wait for room or acknowledgements check again. Does not block.
  void wake() { room_.notify_all(); }

  enum class Fit { kFits, kOutdated, kNeverSent };
  Fit fit(std::uint64_t peer_received) EXCLUDES(mutex_);
  // Sets the next carrier and sends again what the other side lacks. Returns false if the handover refuses or
  // the number is impossible.
  bool resume(std::uint64_t attempt, std::shared_ptr<Connection> carrier, std::uint64_t peer_received) EXCLUDES(mutex_);
  // After the end, when no thread writes any more: releases connection and bytes.
  void release() EXCLUDES(mutex_);

 private:
  using State = CarrierHandover::State;

  // How long to wait for an acknowledgement before copying. After a timeout, the next kImpatient reclaims do
  // not wait.
  static constexpr std::chrono::milliseconds kPatience{2};
  static constexpr int kImpatient = 64;
  // A thread that makes room, or notices the end, must not wait for a writer's lock, so its notification may
  // be missed. This limits the delay.
  static constexpr std::chrono::milliseconds kMissedAfter{10};

  bool ended() const { return handover_.is(State::kEnded); }
  bool broken() const { return handover_.is(State::kBroken); }
  bool adopt_carrier() REQUIRES(mutex_);
  void drop_carrier() REQUIRES(mutex_);
  bool is_still_crowded() EXCLUDES(mutex_);
  bool is_crowded() REQUIRES(mutex_);
  Fit fit_of(std::uint64_t peer_received) const REQUIRES(mutex_);
  template <class Keep, class Send>
  bool write_kept(std::size_t size, Keep&& keep, Send&& send) EXCLUDES(mutex_);
  void send_kept() REQUIRES(mutex_);
  void send_backlog() EXCLUDES(mutex_);
  void offer(std::size_t size) REQUIRES(mutex_);
  void count_sent() REQUIRES(mutex_);

  CarrierHandover& handover_;
  std::atomic<std::uint64_t>& bytes_sent_;
  bool writers_wait_ = false;

  Mutex mutex_;
  ConditionVariable room_;  // notified without mutex_, which a blocked writer holds
  int impatient_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> may_be_crowded_{false};
  std::shared_ptr<Connection> carrier_ GUARDED_BY(mutex_);
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;  // of carrier_
  std::uint64_t sent_ GUARDED_BY(mutex_) = 0;        // over carrier_, as a position of the stream
  ReplayBuffer kept_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> offered_{0};  // may have been received; written with mutex_
  AcknowledgedBytes acknowledged_;
};

}  // namespace remotecl
