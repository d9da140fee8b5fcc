#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/replay_buffer.h"

namespace remotecl {

// A byte stream that outlives the connection that carries it: when that breaks, another one takes its place, and each
// side sends again what the other has not received. Until then readers wait, and what is written is kept. Whoever owns
// it makes the new connection and lets both sides tell each other how much they have received; and it passes
// acknowledgements to the other side, so that not everything has to be kept.
//
// As with every connection one thread may read and another write at the same time. Carriers are used with that side's
// lock, which nobody else holds for long.
class ResumableConnection final : public Connection {
 public:
  // Called by any thread, also by one that reads or writes.
  struct Hooks {
    std::function<void()> broken;                             // each time; must neither block nor use this
    std::function<void(std::uint64_t received)> acknowledge;  // by the thread that reads: the other side should know
    std::function<bool()> hopeless;                           // asked now and then while a reader waits
  };

  // Ends when it has not been carried on within the window.
  ResumableConnection(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window, Hooks hooks);
  ~ResumableConnection() override;

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_ahead(MutableBytes to) override;
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  // For the thread that reads, and valid until it reads.
  int wait_handle() const override;
  // What that belongs to; null while there is no connection.
  std::shared_ptr<Connection> reader() const EXCLUDES(read_mutex_);
  void await_writable(std::chrono::milliseconds time) override;
  // Of the connection that carries it now.
  void set_read_timeout(std::chrono::milliseconds timeout) override;
  // For good.
  void shutdown() override { end({}); }
  void end(const std::string& reason) EXCLUDES(state_mutex_);
  // After its end, when nobody reads any more: keeps no connection, no descriptor and no bytes.
  void release() EXCLUDES(read_mutex_, write_mutex_, state_mutex_);
  std::size_t streams() const override;
  bool vanished() const override { return vanished_.load(std::memory_order_relaxed); }

  // So much is kept that who can wait should.
  bool crowded() { return may_be_crowded_.load(std::memory_order_relaxed) && is_still_crowded(); }
  // Waits until it is not, and so the thread that reads must not. False at the end.
  bool await_room() EXCLUDES(write_mutex_);

  // write() and write_lent() await room, too, and wait while there is no carrier. Before the first of them.
  void make_writers_wait() { writers_wait_ = true; }

  // What is lent is not copied, but for what has not been acknowledged when it is wanted back, after a moment.
  bool keeps_lent() const override { return true; }
  bool write_lent(Bytes header, Bytes lent) override;
  void reclaim(std::uint64_t position) override;
  void tell_received() override;

  std::uint64_t acknowledged_bytes() const { return acknowledged_.load(std::memory_order_relaxed); }
  // The other side has received so many bytes. False when that cannot be.
  [[nodiscard]] bool acknowledged(std::uint64_t bytes);

  // The first half of carrying on: nothing more is read from the old carrier. How many bytes have been received.
  struct Attempt {
    std::uint64_t number;
    std::uint64_t received;
  };
  Attempt detach();
  // Between the two: whether it can go on where the other side has received so many. kOutdated: more has been
  // acknowledged before, so this was said before that, or by somebody who is confused.
  enum class Fit { kFits, kOutdated, kNeverSent };
  Fit fit(std::uint64_t peer_received) EXCLUDES(write_mutex_);
  // The second half: the other side has received so many. Sends again what it lacks, unless the carrier breaks. False
  // when a later attempt has begun, the stream has ended, or the number cannot be.
  bool resume(const Attempt& attempt, std::shared_ptr<Connection> carrier, std::uint64_t peer_received);

  bool broken() const;
  bool ended() const;
  // Why it has ended, for people; empty when it was shut down, or ended with its connection.
  std::string reason() const EXCLUDES(state_mutex_);
  // Ends it when it has been broken for too long, or without hope: for who waits for its end elsewhere than in
  // read_some(). Any thread.
  void end_if_due() EXCLUDES(state_mutex_);
  // How many connections have carried it.
  std::uint64_t carriers() const { return generation_.load(std::memory_order_acquire); }
  // Since when it is broken.
  std::chrono::steady_clock::time_point broken_since() const;
  // From now on, the end of the connection is that of the stream.
  void end_when_broken();
  void set_window(std::chrono::milliseconds window);

 private:
  static constexpr std::uint64_t kAcknowledgeEvery = 1u << 20;
  // How long an acknowledgement is awaited before bytes are copied, and how often not when it has not come in time.
  static constexpr std::chrono::milliseconds kPatience{2};
  static constexpr int kImpatient = 64;
  static constexpr std::uint64_t kKeptMax = 32u << 20;
  static constexpr std::chrono::milliseconds kHopelessEvery{100};
  // Who makes room, or finds the end, must not wait for a writer's lock and may be missed: how long that matters.
  static constexpr std::chrono::milliseconds kMissedAfter{10};

  enum class State { kCarried, kBroken, kEnded };

  bool adopt_reader() const REQUIRES(read_mutex_);
  bool adopt_writer() REQUIRES(write_mutex_);
  enum class How { kBlocking, kNow, kAhead };
  std::ptrdiff_t read(MutableBytes to, How how) EXCLUDES(read_mutex_);
  std::ptrdiff_t read_now(MutableBytes to, How how) EXCLUDES(read_mutex_);
  bool await_carrier() EXCLUDES(state_mutex_);
  bool is_still_crowded() EXCLUDES(write_mutex_);
  bool is_crowded() REQUIRES(write_mutex_);
  Fit fit_of(std::uint64_t peer_received) const REQUIRES(write_mutex_);
  // `copied`: what of `size` bytes keep() copies.
  template <class Keep, class Send>
  bool write_kept(std::size_t size, Keep&& keep, Send&& send) EXCLUDES(write_mutex_);
  bool send_kept() REQUIRES(write_mutex_);
  void offer(std::size_t size) REQUIRES(write_mutex_);
  void count_sent() REQUIRES(write_mutex_);
  void broke(const std::shared_ptr<Connection>& carrier) EXCLUDES(state_mutex_);
  void carried_on() EXCLUDES(write_mutex_);
  void signal_reader() REQUIRES(state_mutex_);

  const Hooks hooks_;
  bool writers_wait_ = false;
  // For poll(), an eventfd: readable when there is a carrier that the reader has not taken, or never will be one.
  // -1 when it was released.
  int wake_;

  mutable Mutex state_mutex_;  // innermost
  ConditionVariable changed_;
  State state_ GUARDED_BY(state_mutex_) = State::kCarried;
  std::shared_ptr<Connection> carrier_ GUARDED_BY(state_mutex_);
  std::uint64_t resume_at_ GUARDED_BY(state_mutex_) = 0;  // where writing goes on with this carrier
  std::uint64_t attempts_ GUARDED_BY(state_mutex_) = 0;
  std::chrono::steady_clock::time_point broken_since_ GUARDED_BY(state_mutex_);
  std::chrono::milliseconds window_ GUARDED_BY(state_mutex_);
  bool ends_when_broken_ GUARDED_BY(state_mutex_) = false;
  std::string reason_ GUARDED_BY(state_mutex_);
  std::atomic<std::uint64_t> generation_{1};  // of carriers; written with state_mutex_
  std::atomic<bool> vanished_{false};

  mutable Mutex read_mutex_;
  mutable std::shared_ptr<Connection> reader_ GUARDED_BY(read_mutex_);
  mutable std::uint64_t reader_generation_ GUARDED_BY(read_mutex_) = 0;
  mutable bool detached_ GUARDED_BY(read_mutex_) = false;  // reader_ must not be read any more
  std::uint64_t told_ = 0;                                 // by the thread that reads

  Mutex write_mutex_;
  ConditionVariable room_;  // notified without write_mutex_, which a blocked writer holds
  int impatient_ GUARDED_BY(write_mutex_) = 0;
  std::atomic<bool> may_be_crowded_{false};
  std::shared_ptr<Connection> writer_ GUARDED_BY(write_mutex_);
  std::uint64_t writer_generation_ GUARDED_BY(write_mutex_) = 0;
  std::uint64_t sent_ GUARDED_BY(write_mutex_) = 0;  // by this writer, as a position of the stream
  ReplayBuffer kept_ GUARDED_BY(write_mutex_);
  std::atomic<std::uint64_t> offered_{0};  // may have been received; written with write_mutex_
  std::atomic<std::uint64_t> acknowledged_{0};
};

}  // namespace remotecl
