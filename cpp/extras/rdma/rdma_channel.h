#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "extras/rdma/channel_waiters.h"
#include "extras/rdma/fixed_queue.h"
#include "extras/rdma/memory_window.h"
#include "extras/rdma/message_credits.h"
#include "extras/rdma/queue_pair.h"
#include "extras/rdma/rdma_messages.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {

// Memory that bulk data is sent from or received into, with its registration. Null: the channel copies
// through memory of its own.
struct RdmaSource {
  Bytes bytes;
  const RegisteredMemory* registration = nullptr;
};
struct RdmaDestination {
  MutableBytes bytes;
  const RegisteredMemory* registration = nullptr;
};

// A connection over RDMA: the sender's device writes bulk data into the receiver's memory.
//
// The bytes of transfers arrive in the order in which they were sent; which transfer comes next, and how many of its
// bytes, both sides know from elsewhere. One thread sends bulk data and one receives it. All other functions may be
// called by any thread. A waiting thread first polls for completions for a moment, then sleeps: one thread on the
// descriptors, the others until that one has seen something. After shutdown(), or when the peer is gone, all functions
// return at once and fail, and reason() says why. From then on the device neither reads nor writes memory.
class RdmaChannel {
 public:
  static constexpr std::size_t kPieceBytes = 4u << 20;      // of one write
  static constexpr std::size_t kStagingBytes = 256u << 10;  // of a piece that is copied
  static constexpr std::size_t kStagedPieces = 4;           // of those that are sent
  // What a channel locks at most, besides what is registered with it.
  static constexpr std::size_t kOwnBytes =
      (QueuePair::kReceives + QueuePair::kSends) * rdma::kBufferBytes + (kStagedPieces + 1) * kStagingBytes;
  static constexpr std::uint64_t kUnderWayMax = 8u << 20;  // bytes sent and not completed

  enum class Use { kCopied, kBorrowed };

  // Makes the queue pair of an identifier that is not yet connected, and posts the buffers. Throws ConnectionError.
  explicit RdmaChannel(std::shared_ptr<CmId> id);
  ~RdmaChannel();
  RdmaChannel(const RdmaChannel&) = delete;
  RdmaChannel& operator=(const RdmaChannel&) = delete;

  // The memory must outlive the registration, and the registration all transfers from and to it. Throws
  // ConnectionError.
  std::unique_ptr<RegisteredMemory> register_memory(MutableBytes memory) const;
  const CmId& id() const { return *domain_->id(); }
  // Keeps what accounts for kOwnBytes as long as the channel locks them. Once, before anyone else knows the channel.
  void keep(std::shared_ptr<const void> held) { held_ = std::move(held); }

  // ---- Sending bulk data.
  // Sends the next bytes of a transfer. Blocks until they are on their way (kBorrowed: they must not change until
  // completed() has reached bytes_sent()) or written (kCopied). Returns false if the channel has ended.
  bool send(std::uint64_t transfer, const RdmaSource& source, Use use) EXCLUDES(mutex_);
  std::uint64_t bytes_sent() const { return counted_.sent.load(std::memory_order_relaxed); }
  std::uint64_t completed() const { return counted_.completed.load(std::memory_order_acquire); }
  // Like completed(), but only of bytes that the peer has got.
  std::uint64_t delivered() const { return counted_.delivered.load(std::memory_order_acquire); }
  // Waits until bytes borrowed before this position belong to the caller again.
  void reclaim(std::uint64_t position) EXCLUDES(mutex_);

  // ---- Receiving bulk data.
  // Names the destination of a transfer before the peer sends it. Opens that memory to the peer until all
  // bytes have arrived, or withdraw(). Does nothing without a registration, a free window or room; then
  // receive() does it. Returns true if it was announced.
  bool announce(std::uint64_t transfer, const RdmaDestination& to) EXCLUDES(mutex_);
  // The destination must not be written any more. A peer that still writes there loses its connection.
  void withdraw(std::uint64_t transfer) EXCLUDES(mutex_);
  // The next `size` bytes to be received are of this transfer. Those expected before must have been received.
  void expect(std::uint64_t transfer, std::size_t size) EXCLUDES(mutex_);
  // Waits until the next bytes have arrived. Announced memory must be named again. Returns false at the end.
  bool receive(const RdmaDestination& to) EXCLUDES(mutex_);
  // The same without blocking: returns the number of bytes, -1 if nothing has arrived, 0 at the end. `to`: all
  // expected bytes, where the peer may write until they are received, discarded or withdrawn.
  std::ptrdiff_t try_receive(const RdmaDestination& to) EXCLUDES(mutex_);
  std::ptrdiff_t try_discard(std::size_t size) EXCLUDES(mutex_);
  // After the end: whether bytes of any transfer have arrived that nobody has received, or may have, because the device
  // has not yet given back all buffers.
  bool has_something_to_receive() EXCLUDES(mutex_);
  // Returns true if bytes have arrived, or the end has.
  bool has_arrived() EXCLUDES(mutex_);
  // For poll(), after one of those has returned -1: readable if it would not. Valid until the receiving thread calls
  // one of them.
  int wait_handle() const { return poll_handle_; }
  std::uint64_t bytes_received() const { return counted_.received.load(std::memory_order_relaxed); }

  // Of the bytes sent and received, those that were copied here.
  std::uint64_t bytes_copied() const { return counted_.copied.load(std::memory_order_relaxed); }
  std::uint64_t system_calls() const { return domain_->system_calls(); }

  void shutdown() EXCLUDES(mutex_);
  std::string reason() EXCLUDES(mutex_);  // empty: the channel has not ended
  // For a channel that nobody may be using, every now and then: unless something has happened since the last time, asks
  // the connection manager, and makes the device notice a peer that has vanished. Threads that wait in receive() do
  // that by themselves. Returns false after the end.
  bool look_after() EXCLUDES(mutex_);

 private:
  // Bytes, for any thread to read.
  struct Counters {
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> completed{0};
    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> received{0};
    std::atomic<std::uint64_t> copied{0};
  };

  // What the peer has written. Its buffer returns to the peer when it is taken.
  struct Arrival {
    unsigned buffer = 0;
    unsigned slot = 0;  // of the window that the peer has written to
    std::uint32_t size = 0;
  };

  // The peer's memory behind one of the peer's windows.
  struct Grant {
    std::uint64_t transfer = 0;
    std::uint64_t address = 0;
    std::uint64_t left = 0;  // bytes; 0: there is none
    std::uint32_t key = 0;
  };

  // Used by the sending thread.
  struct Sending {
    std::array<Grant, rdma::kWindows> grants;  // by the peer's slots
    rdma::SkipMessage skip{};
    std::array<std::uint64_t, QueuePair::kSends> positions{};  // of bytes_sent() after each request
    std::unique_ptr<OwnMemory> staging;                        // pieces, used in turn
    std::array<std::uint64_t, kStagedPieces> staged{};         // the request that reads each
    std::size_t next_staged = 0;
    WaitPolicy spin;
  };

  // Used by the receiving thread.
  struct Receiving {
    std::uint64_t transfer = 0;             // of the expected bytes
    std::size_t left = 0;                   // expected
    std::size_t skipped = 0;                // of these, not sent by the peer
    MutableBytes landed;                    // of these, written and not yet received
    std::unique_ptr<OwnMemory> staging;     // for memory that is not registered
    const MemoryWindow* closing = nullptr;  // until it is closed, bytes that have landed are not taken
    bool is_flushed = false;                // after the end, nothing more arrives
    WaitPolicy spin;
  };

  // ---- rdma_channel.cpp: completions and waiting.
  MutableBytes receive_buffer(unsigned buffer) const;
  bool post_receive(unsigned buffer) REQUIRES(mutex_);
  void drain() REQUIRES(mutex_);
  bool drain_awake() REQUIRES(mutex_);
  void handle(const ibv_wc& completion) REQUIRES(mutex_);
  void handle_message(unsigned buffer, std::size_t size) REQUIRES(mutex_);
  bool accept_grant(Bytes payload) REQUIRES(mutex_);
  void handle_cm_events() REQUIRES(mutex_);
  using Completions = QueuePair::Completions;
  bool await_progress(WaitPolicy& spin, Completions kind) REQUIRES(mutex_);
  void sleep(Completions kind) REQUIRES(mutex_);
  void probe() REQUIRES(mutex_);
  void wake_others() REQUIRES(mutex_);
  void set_ready() REQUIRES(mutex_);
  bool prepare_to_poll() REQUIRES(mutex_);
  void end(std::string reason) REQUIRES(mutex_);
  bool is_over() const REQUIRES(mutex_) { return !reason_.empty(); }

  // ---- rdma_channel_send.cpp
  MutableBytes send_buffer(std::uint64_t request) const;
  bool post_message(rdma::MessageKind kind, Bytes payload) REQUIRES(mutex_);
  bool has_room() const REQUIRES(mutex_) { return pair_.has_room(QueuePair::kKeptForControl); }
  bool may_post() const REQUIRES(mutex_) { return has_room() && credits_.may_send(); }
  // The completions that let a blocked writer go on: those that make room, or the peer's credits and grants.
  Completions what_makes_room() const REQUIRES(mutex_) {
    return has_room() ? Completions::kArrivals : Completions::kAll;
  }
  void return_credits() REQUIRES(mutex_);
  void note_posted() REQUIRES(mutex_);
  Grant* grant_of(std::uint64_t transfer) REQUIRES(mutex_);
  bool may_write(std::uint64_t transfer, bool is_copied) REQUIRES(mutex_);
  std::size_t write_piece(std::uint64_t transfer, const RdmaSource& source) REQUIRES(mutex_);
  RdmaSource staged(Bytes bytes) REQUIRES(mutex_);
  std::size_t take_skip(std::uint64_t transfer, std::size_t left) REQUIRES(mutex_);
  void await_flush(std::uint64_t position, unsigned receives) REQUIRES(mutex_);

  // ---- rdma_channel_receive.cpp
  MemoryWindow* window_of(std::uint64_t transfer) REQUIRES(mutex_);
  // Throws ConnectionError if memory cannot be registered.
  bool open_window(unsigned slot, std::uint64_t transfer, const RdmaDestination& to) REQUIRES(mutex_);
  void close_window(MemoryWindow& window) REQUIRES(mutex_);
  Arrival take_arrival() REQUIRES(mutex_);
  void take_written(const Arrival& arrival) REQUIRES(mutex_);
  void take_more(const RdmaDestination& to) REQUIRES(mutex_);
  std::size_t take_landed(MutableBytes to) REQUIRES(mutex_);
  std::size_t skip(std::size_t size) REQUIRES(mutex_);
  bool has_received_all() REQUIRES(mutex_);
  bool is_closing() const REQUIRES(mutex_) {
    return receiving_.closing != nullptr && receiving_.closing->is_closing(pair_);
  }
  // The completions that let a blocked reader go on.
  Completions what_brings_bytes() const REQUIRES(mutex_) {
    return is_closing() ? Completions::kAll : Completions::kArrivals;
  }

  std::shared_ptr<const void> held_;
  const std::shared_ptr<const ProtectionDomain> domain_;
  const OwnMemory buffers_;  // of messages: those to receive, those to send
  Counters counted_;

  Mutex mutex_;
  // The order matters: windows are destroyed after the queue pair, and the memory behind them last.
  Sending sending_ GUARDED_BY(mutex_);
  Receiving receiving_ GUARDED_BY(mutex_);
  std::array<MemoryWindow, rdma::kWindows> windows_ GUARDED_BY(mutex_);
  QueuePair pair_ GUARDED_BY(mutex_);
  MessageCredits credits_ GUARDED_BY(mutex_);
  FixedQueue<Arrival, QueuePair::kReceives> written_ GUARDED_BY(mutex_);
  ChannelWaiters waiters_ GUARDED_BY(mutex_);
  const int poll_handle_;                           // of waiters_
  std::uint64_t looked_at_ GUARDED_BY(mutex_) = 0;  // the waiters' events when look_after() has looked
  std::string reason_ GUARDED_BY(mutex_);           // empty: it has not ended
};

}  // namespace remotecl
