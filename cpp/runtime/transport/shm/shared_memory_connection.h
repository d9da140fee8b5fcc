#pragma once

#include <functional>

#include "runtime/base/process_watch.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_segment.h"
#include "runtime/transport/shm/shared_ring.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "runtime/transport/threads/adaptive_spin.h"

namespace remotecl {

// A connection through memory that two processes of one host share, beside a stream connection of the same two: the
// doorbell. The doorbell ends when the peer's process does, which memory never tells, and wakes who waits in poll().
// Nothing else may be sent on it any more. One that may break is a stream of its own (ResumableConnection): what is in
// the memory stays there while it is made again, and the end of the peer's process is watched beside it.
//
// Who blocks, spins for a moment where that has helped, then sleeps on a futex in the shared memory; a reader for whom
// nothing comes moves to the doorbell, where it sleeps without a time limit. wait_handle() is for POLLIN only: room to
// write is not announced there.
class SharedMemoryConnection final : public Connection {
 public:
  // Both ends have said that they see the segment. Throws std::system_error when the process is out of descriptors.
  SharedMemoryConnection(std::unique_ptr<SharedMemorySegment> segment, std::unique_ptr<Connection> doorbell);
  ~SharedMemoryConnection() override;

  // From now on the doorbell may break; who is given it makes it again. Before this is read or written. `share`: makes
  // what carries it, of what has carried it so far.
  using Share = std::function<std::shared_ptr<Connection>(std::unique_ptr<Connection>)>;
  ResumableConnection& keep_doorbell(std::chrono::milliseconds window, ResumableConnection::Hooks hooks,
                                     const Share& share = {});

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  void await_briefly() override;
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  int wait_handle() const override { return handle_; }
  void set_read_timeout(std::chrono::milliseconds timeout) override { read_timeout_ = timeout; }
  void shutdown() override;
  bool vanished() const override { return doorbell_->vanished(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool over() const;
  bool peer_hung_up();
  // So much of `size` bytes is copied before the other side hears of it.
  std::size_t piece_of(std::size_t size) const;

  // Of the thread that reads.
  std::size_t take(MutableBytes to);
  bool nothing_to_read();
  bool wait_for_data();
  void wait_for_doorbell(Clock::duration time);
  void drain_doorbell();
  void follow_doorbell();
  void set_ready();
  void clear_ready();

  // Of the thread that writes.
  void publish();
  template <class Condition>
  bool sleep_unless(Condition is_over, Clock::duration time);
  bool wait_for_room();

  const std::unique_ptr<SharedMemorySegment> segment_;
  std::unique_ptr<Connection> doorbell_;
  ResumableConnection* resumable_ = nullptr;  // the doorbell, if it may break
  ProcessWatch peer_;                         // then
  RingWords& in_words_;
  RingWords& out_words_;
  RingReader in_;   // of the thread that reads
  RingWriter out_;  // of the thread that writes

  // The handle is readable while the doorbell or ready_ is. ready_ stays set until try_read_some finds nothing and asks
  // the peer to ring; who never polls, neither rings nor is rung for.
  const int ready_;
  const int handle_;
  bool ready_is_set_ = true;                     // of the thread that reads
  int watched_ = -1;                             // as well: of the doorbell, in handle_
  std::uint64_t watched_carriers_ = 0;           // how many there had been then
  std::shared_ptr<Connection> watched_carrier_;  // so that its descriptor is nobody else's
  AdaptiveSpin spin_;                            // as well
  AdaptiveSpin room_spin_;                       // of the thread that writes

  std::atomic<std::chrono::milliseconds> read_timeout_{std::chrono::milliseconds(0)};
  std::atomic<bool> shut_{false};
};

}  // namespace remotecl
