#pragma once

#include <functional>

#include "runtime/base/process_watch.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_segment.h"
#include "runtime/transport/shm/shared_ring.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {

// A connection through memory that two processes of one host share, next to a stream connection between them:
// the doorbell. The doorbell ends when the peer's process does, which memory cannot show, and wakes threads
// in poll(). Nothing else may be sent on it. A resumable doorbell is a stream of its own
// (ResumableConnection): if it breaks, the contents of the memory remain while it is replaced, and the end of
// the peer's process is watched separately.
//
// A thread that blocks spins for a moment if that has helped before, and then sleeps on a futex in the shared
// memory. A reader that gets nothing moves to the doorbell, where it sleeps without a time limit.
// wait_handle() supports POLLIN only: it does not announce room for writing.
class SharedMemoryConnection final : public Connection {
 public:
  // Both ends have confirmed that they see the segment. Throws std::system_error if the process is out of
  // descriptors.
  SharedMemoryConnection(std::unique_ptr<SharedMemorySegment> segment, std::unique_ptr<Connection> doorbell);
  ~SharedMemoryConnection() override;

  // Makes the doorbell resumable; the caller resumes it. Must come before the first read or write. `share`:
  // creates the doorbell's carrier from the present connection.
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
  TransportKind kind() const override { return TransportKind::kSharedMemory; }

 private:
  using Clock = std::chrono::steady_clock;

  bool over() const;
  bool peer_hung_up();
  // How many of `size` bytes are copied before the other side is informed.
  std::size_t piece_of(std::size_t size) const;

  // Used by the reading thread.
  std::size_t take(MutableBytes to);
  bool nothing_to_read();
  bool wait_for_data();
  void wait_for_doorbell(Clock::duration time);
  void drain_doorbell();
  void follow_doorbell();
  void set_ready();
  void clear_ready();

  // Used by the writing thread.
  void publish();
  template <class Condition>
  bool sleep_unless(Condition is_over, Clock::duration time);
  bool wait_for_room();

  const std::unique_ptr<SharedMemorySegment> segment_;
  std::unique_ptr<Connection> doorbell_;
  ResumableConnection* resumable_ = nullptr;  // the doorbell, if it is resumable
  ProcessWatch peer_;                         // set then
  RingWords& in_words_;
  RingWords& out_words_;
  RingReader in_;   // used by the reading thread
  RingWriter out_;  // used by the writing thread

  // The handle is readable while the doorbell or ready_ is. ready_ stays set until try_read_some() finds
  // nothing and asks the peer to ring, so a reader that never polls costs no rings.
  const int ready_;
  const int handle_;
  bool ready_is_set_ = true;                     // used by the reading thread
  int watched_ = -1;                             // likewise: the doorbell's descriptor in handle_
  std::uint64_t watched_carriers_ = 0;           // the doorbell's carriers() at that time
  std::shared_ptr<Connection> watched_carrier_;  // keeps its descriptor from being reused
  WaitPolicy spin_;                              // used by the reading thread
  WaitPolicy room_spin_;                         // used by the writing thread

  std::atomic<std::chrono::milliseconds> read_timeout_{std::chrono::milliseconds(0)};
  std::atomic<bool> shut_{false};
};

}  // namespace remotecl
