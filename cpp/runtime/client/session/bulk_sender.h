#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "runtime/base/stoppable_thread.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/chunk_turns.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/client/session/row_packer.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/bulk/passing_rule.h"

namespace remotecl {

// The writing side of a channel. If a thread waits for a write, it sends the bytes itself; all other bytes
// are sent by the sender's own thread, which starts on first use. Between the chunks of a large transfer, its thread
// sends some of the small ones that are queued, and on a thin link other threads send theirs. Owned by the channel.
// Any thread.
class BulkSender {
 public:
  struct Borrowed {
    std::uint64_t end;  // counted like BulkTransport::bytes_sent()
    TransferRef transfer;
    std::unique_ptr<MemoryRegistration> registration;
    std::unique_ptr<RowPacker> packer;  // owns the bytes of rows with gaps
  };

  explicit BulkSender(ChannelSession& session) : session_(session) {}
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // Call it once, before anything else. The transport stays valid until release().
  void use(BulkTransport& transport) EXCLUDES(write_mutex_, borrowed_mutex_);
  // Sends the bytes of a transfer from the calling thread. If the transfer says so, also waits until the
  // server has received them. Returns false if the connection has ended.
  bool send(const TransferRef& transfer) EXCLUDES(thread_.mutex, write_mutex_, borrowed_mutex_) {
    return send(transfer, Others::kMayPass);
  }
  // Queues the transfer for the sender's own thread. If that thread cannot be started, a pushed transfer is sent by the
  // calling one, and any other fails.
  void post(TransferRef transfer) EXCLUDES(thread_.mutex, write_mutex_, borrowed_mutex_);
  // If the session was lost while a chunk was being sent: returns when nothing is read from its memory any more.
  void await_chunk() EXCLUDES(write_mutex_) { const MutexLock lock(write_mutex_); }
  // Does this on the transport, unless that is released.
  void withdraw(TransferId transfer) EXCLUDES(borrowed_mutex_);
  // Ends the transfers that the server reports to have received. Returns whether there were any.
  bool end_received() EXCLUDES(borrowed_mutex_);
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }  // sent whole

  // Stops the sender's own thread from taking further transfers.
  void shutdown() { thread_.request_stop(); }
  // Ends the thread; the transport must have been shut down.
  void stop() { thread_.stop(); }
  // After stop(): drops the transport, which must be destroyed before the returned borrowed buffers.
  std::deque<Borrowed> release() EXCLUDES(write_mutex_, borrowed_mutex_);

 private:
  enum class Others { kMayPass, kWait };
  // A transfer whose bytes the calling thread sends.
  struct Sending {
    const TransferRef& transfer;
    const bool borrows;
    const Others others;
    PassingRule rule{};
    std::unique_ptr<MemoryRegistration> registration{};
    std::unique_ptr<RowPacker> packer{};
    std::uint64_t end = 0;  // of what has been sent, counted like Borrowed::end
  };

  // Holds the sending side of the transport for something short, next after the chunk that is being sent.
  class REMOTECL_TSA(scoped_lockable) ShortTurn {
   public:
    explicit ShortTurn(BulkSender& sender) ACQUIRE(sender.write_mutex_) : sender_(sender), turn_(announced(sender)) {
      sender_.write_mutex_.lock();
    }
    ~ShortTurn() RELEASE() {
      sender_.write_mutex_.unlock();
      --sender_.short_turns_;
    }
    ShortTurn(const ShortTurn&) = delete;
    ShortTurn& operator=(const ShortTurn&) = delete;

   private:
    static ChunkTurns& announced(BulkSender& sender) {
      ++sender.short_turns_;
      return sender.turns_;
    }

    BulkSender& sender_;
    const ChunkTurns::Turn turn_;
  };

  bool send(const TransferRef& transfer, Others others) EXCLUDES(thread_.mutex, write_mutex_, borrowed_mutex_);
  bool send_offered(const TransferRef& transfer, Others others) EXCLUDES(write_mutex_, borrowed_mutex_);
  bool offer(const TransferRef& transfer, const UploadOffer::Step& chunks);
  void note_delivered(UploadOffer& offered) EXCLUDES(borrowed_mutex_);
  bool send_part(Sending& sending, const UploadOffer::Step& part) EXCLUDES(write_mutex_, borrowed_mutex_);
  bool send_piece(Sending& sending, Bytes bytes) EXCLUDES(thread_.mutex, write_mutex_, borrowed_mutex_);
  bool send_chunk(Sending& sending, Bytes bytes, std::int32_t status, std::uint64_t size) REQUIRES(write_mutex_)
      EXCLUDES(borrowed_mutex_);
  std::size_t chunk_size() const EXCLUDES(borrowed_mutex_);
  void let_pass(Sending& sending, std::uint64_t sent) EXCLUDES(thread_.mutex, write_mutex_, borrowed_mutex_);
  TransferRef take_passing(const PassingRule& rule, std::uint64_t left) EXCLUDES(thread_.mutex);
  bool finish(const TransferRef& transfer, bool is_sent, bool is_borrowed) EXCLUDES(write_mutex_, borrowed_mutex_);
  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) EXCLUDES(write_mutex_);
  Bytes next_piece(ClientTransfer& transfer, RowPacker* packer) EXCLUDES(write_mutex_);
  void reclaim(std::uint64_t position) EXCLUDES(write_mutex_);
  void keep_borrowed(bool is_kept) EXCLUDES(borrowed_mutex_);
  void fail(const TransferRef& transfer) EXCLUDES(write_mutex_);
  void run() EXCLUDES(thread_.mutex);

  ChannelSession& session_;
  std::atomic<std::uint64_t> transfers_{0};
  ChunkTurns turns_;                 // for write_mutex_
  std::atomic<int> short_turns_{0};  // turns that threads have or wait for
  Mutex write_mutex_;                // serializes the sending side of the transport
  mutable Mutex borrowed_mutex_;
  BulkTransport* transport_ GUARDED_BY(write_mutex_) = nullptr;
  BulkTransport* borrower_ GUARDED_BY(borrowed_mutex_) = nullptr;  // the same, for calls that need no turn to send
  // Constant after use().
  bool borrows_ = false;        // true if the transport borrows buffers instead of copying them
  bool may_alternate_ = false;  // transfers may pass others
  std::deque<Borrowed> borrowed_ GUARDED_BY(borrowed_mutex_);  // sent, and possibly to be sent again
  bool is_kept_ GUARDED_BY(borrowed_mutex_) = false;           // nothing of it may end: the transport may be copying it
  std::deque<TransferRef> queue_ GUARDED_BY(thread_.mutex);
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl
