#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/carrier_handover.h"
#include "runtime/transport/stream/resumable_writer.h"

namespace remotecl {

// A byte stream that outlives the connection that carries it: when that breaks, another one replaces it, and
// each side sends again what the other has not received. Until then readers wait, and written bytes are kept.
// The owner makes the new connection and exchanges how much each side has received. It also passes
// acknowledgements to the other side, so that not everything has to be kept.
//
// As with every connection, one thread may read while another writes. Carriers are used under that
// direction's lock, which no other thread holds for long.
class ResumableConnection final : public Connection {
 public:
  // Called by any thread, even one that reads or writes.
  struct Hooks {
    std::function<void()> broken;                             // each time; must neither block nor use this object
    std::function<void(std::uint64_t received)> acknowledge;  // by the reading thread: the other side should know
    std::function<bool()> hopeless;                           // called now and then while a reader waits
  };

  // Ends if it has not been resumed within the window.
  ResumableConnection(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window, Hooks hooks);

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_ahead(MutableBytes to) override;
  bool write(iovec* parts, int count) override { return writer_.write(parts, count); }
  std::ptrdiff_t try_write(Bytes from) override { return writer_.try_write(from); }
  // For the reading thread; valid until it reads.
  int wait_handle() const override;
  // The connection that the wait handle belongs to; null while there is none.
  std::shared_ptr<Connection> reader() const EXCLUDES(read_mutex_);
  void await_writable(std::chrono::milliseconds time) override { writer_.await_writable(time); }
  // Applies to the connection that carries the stream now.
  void set_read_timeout(std::chrono::milliseconds timeout) override;
  // Ends the stream for good.
  void shutdown() override { end({}); }
  void end(const std::string& reason) { handover_.end(reason); }
  // After the end, when no thread reads any more: releases connection, descriptor and bytes.
  void release() EXCLUDES(read_mutex_);
  std::size_t streams() const override;
  bool vanished() const override { return handover_.vanished(); }
  Delivered delivered() const override {
    const auto carrier = handover_.carrier();
    return carrier != nullptr ? carrier->delivered() : Delivered();
  }
  double paced_rate() const override {
    const auto carrier = handover_.carrier();
    return carrier != nullptr ? carrier->paced_rate() : 0;
  }

  // Returns true if so much is kept that threads which can wait should.
  bool crowded() override { return writer_.crowded(); }
  // Waits until it is no longer crowded, so the reading thread must not call it. Returns false at the end.
  bool await_room() { return writer_.await_room(); }

  // write() and write_borrowed() also wait for room, and while there is no carrier. Call it before the first of
  // them.
  void make_writers_wait() { writer_.make_writers_wait(); }

  // Borrowed bytes are copied only if they are reclaimed and not acknowledged within a moment.
  bool keeps_borrowed() const override { return true; }
  bool write_borrowed(Bytes header, Bytes borrowed) override { return writer_.write_borrowed(header, borrowed); }
  void reclaim(std::uint64_t position) override { writer_.reclaim(position); }
  std::uint64_t completed() const override { return acknowledged_bytes(); }
  void report_received() override;

  std::uint64_t acknowledged_bytes() const { return writer_.acknowledged_bytes(); }
  // The other side has received this many bytes. Returns false if that is impossible.
  [[nodiscard]] bool acknowledged(std::uint64_t bytes) { return writer_.acknowledged(bytes); }

  // The first half of resuming: nothing more is read from the old carrier. Returns how many bytes have been
  // received.
  struct Attempt {
    std::uint64_t number;
    std::uint64_t received;
  };
  Attempt detach() EXCLUDES(read_mutex_);
  // Between the halves: whether the stream can continue where the other side has received this many bytes.
  // kOutdated: more has been acknowledged before, so the number is old or wrong.
  using Fit = ResumableWriter::Fit;
  Fit fit(std::uint64_t peer_received) { return writer_.fit(peer_received); }
  // The second half: the other side has received this many bytes. Sends again what it lacks, unless the
  // carrier breaks. Returns false if a later attempt has begun, the stream has ended, or the number is
  // impossible.
  bool resume(const Attempt& attempt, std::shared_ptr<Connection> carrier, std::uint64_t peer_received) {
    return writer_.resume(attempt.number, std::move(carrier), peer_received);
  }

  bool broken() const { return handover_.is(State::kBroken); }
  bool ended() const { return handover_.is(State::kEnded); }
  // Why it has ended, for users; empty if it was shut down, or ended with its connection.
  std::string reason() const { return handover_.reason(); }
  // Ends the stream if it has been broken for too long, or is hopeless. For threads that wait for its end
  // elsewhere than in read_some(). Any thread.
  void end_if_due();
  // Counts the connections that have carried the stream.
  std::uint64_t carriers() const { return handover_.generation(); }
  // The time since when it is broken.
  std::chrono::steady_clock::time_point broken_since() const { return handover_.broken_since(); }
  // From now on a broken connection ends the stream.
  void end_when_broken();
  void set_window(std::chrono::milliseconds window) { handover_.set_window(window); }

 private:
  using State = CarrierHandover::State;

  static constexpr std::chrono::milliseconds kHopelessEvery{100};

  void lost(State state);
  bool adopt_reader() const REQUIRES(read_mutex_);
  enum class How { kBlocking, kNow, kAhead };
  std::ptrdiff_t read(MutableBytes to, How how) EXCLUDES(read_mutex_);
  std::ptrdiff_t read_now(MutableBytes to, How how) EXCLUDES(read_mutex_);
  bool await_carrier() EXCLUDES(read_mutex_);

  const Hooks hooks_;
  mutable CarrierHandover handover_;
  ResumableWriter writer_;

  mutable Mutex read_mutex_;
  mutable std::shared_ptr<Connection> reader_ GUARDED_BY(read_mutex_);
  mutable std::uint64_t reader_generation_ GUARDED_BY(read_mutex_) = 0;
  mutable bool detached_ GUARDED_BY(read_mutex_) = false;  // reader_ must not be read any more
  std::uint64_t acknowledged_ = 0;                         // used by the reading thread
};

}  // namespace remotecl
