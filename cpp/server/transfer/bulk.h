#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/stoppable_thread.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/bulk/passing_rule.h"
#include "server/transfer/transfer.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class TransferTable;

// The reading side of a bulk connection from the client or a peer. Owned by the session or the link. Any
// thread, unless noted otherwise.
//
// Bytes are either pulled or, if so announced, pushed. Pushed bytes are kept here until their command may
// begin, so that they never delay what follows them on the connection.
class BulkReceiver {
 public:
  enum class Pushes { kTaken, kRefused };

  // `outbox` sends the requests for bytes. `channel`: the session's channel, if pushes are taken.
  BulkReceiver(TransferTable& table, Outbox& outbox, Pushes pushes, unsigned channel = 0);

  // The bytes of a write will come without a pull. Throws ProtocolError, HeldTooMuch.
  void announce_push(TransferId id, std::uint64_t size) EXCLUDES(mutex_);
  // The command of a pushed write has failed before it began, so its bytes are discarded. Does nothing for
  // other transfers.
  void drop_push(TransferId id) EXCLUDES(mutex_);
  // Sets the transport from which run() will receive, and to which pull() announces memory. Any thread.
  void connect(BulkTransport& transport) { transport_.store(&transport, std::memory_order_release); }
  // The command may begin: requests its bytes, unless they are pushed. Returns false if the id is in use.
  bool pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  // A transfer whose bytes were requested and have not all come; null if there is none.
  Ref<IncomingTransfer> find_pulled(TransferId id) EXCLUDES(mutex_);
  // Drops a transfer none of whose bytes have come; null if there is none.
  Ref<IncomingTransfer> cancel(TransferId id) EXCLUDES(mutex_);
  // Receives until the transport ends; has its own thread. Throws ProtocolError.
  void run(BulkTransport& transport) EXCLUDES(mutex_);
  // run() stops waiting for commands. The transport must have been shut down.
  void stop() EXCLUDES(mutex_);
  // Returns the transfers that have not completed. Call it after run().
  std::vector<Ref<IncomingTransfer>> take_all() EXCLUDES(mutex_);
  // Counts the transfers that have been received whole.
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }

 private:
  // How long received bytes stay in the socket, waiting for their command to come and to begin, before they are read.
  static constexpr std::chrono::microseconds kPatience{100};

  struct Expected {
    Ref<IncomingTransfer> transfer;  // null: its command has not begun
    bool begun = false;              // run() is using it
    std::uint64_t pushed = 0;        // size of a pushed write; 0: pulled
    bool is_announced = true;        // false: only its bytes have come
    bool dropped = false;            // the bytes are no longer needed
    std::shared_ptr<std::byte[]> early;
    TransportKind early_by = TransportKind::kNone;
  };

  Ref<IncomingTransfer> begin(const BulkHeader& header) EXCLUDES(mutex_);
  Ref<IncomingTransfer> begin_pushed(const BulkHeader& header) EXCLUDES(mutex_);
  Expected& expect_push(TransferId id, std::uint64_t size) REQUIRES(mutex_);
  bool receive_early(BulkTransport& transport, const BulkHeader& header) EXCLUDES(mutex_);
  bool receive_bytes(BulkTransport& transport, std::uint32_t size, IncomingTransfer& transfer, StagingSet& staging);
  bool receive_chunk(BulkTransport& transport, const BulkHeader& header, IncomingTransfer& transfer,
                     StagingSet& staging) EXCLUDES(mutex_);
  void finish(IncomingTransfer& transfer) EXCLUDES(mutex_);
  void count_expected() REQUIRES(mutex_);
  void forget(std::unordered_map<TransferId, Expected>::iterator at) REQUIRES(mutex_);

  TransferTable& table_;
  Outbox& outbox_;
  const Pushes pushes_;
  const unsigned channel_;
  std::atomic<BulkTransport*> transport_{nullptr};
  Mutex mutex_;
  ConditionVariable changed_;  // something was announced, has begun, or was dropped
  std::unordered_map<TransferId, Expected> expected_ GUARDED_BY(mutex_);
  std::uint64_t pushed_ GUARDED_BY(mutex_) = 0;    // bytes of pushed writes in expected_
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;     // bytes of earlier pushed writes
  std::uint64_t reported_ GUARDED_BY(mutex_) = 0;  // of these, those reported to the client
  HeldMemory held_ GUARDED_BY(mutex_);             // for expected_ and the pushed bytes received
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> transfers_{0};
};

// The writing side. Has its own thread, started with the first transfer, because the receiver may be slow. Between the
// chunks of a large transfer it sends some of the small ones that wait.
// Owned by the session or the link. post() may be called by any thread, including a driver's callback.
class BulkSender {
 public:
  // `lost` is called on the sending thread when the transport has ended, and by post() if that thread cannot
  // be started, with what the server lacks, if that was it.
  using Lost = std::function<void(const std::string& lack)>;
  BulkSender(TransferTable& table, Lost lost) : table_(table), lost_(std::move(lost)) {}

  void connect(BulkTransport& transport) EXCLUDES(thread_.mutex);
  void post(Ref<OutgoingTransfer> transfer) EXCLUDES(thread_.mutex);
  // Waits for the transfer that is being sent; the transport must have been shut down. Returns what was not
  // sent.
  std::vector<Ref<OutgoingTransfer>> stop() EXCLUDES(thread_.mutex);
  // Counts the transfers that have been sent whole.
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }

 private:
  using Between = OutgoingTransfer::Between;

  bool send(Ref<OutgoingTransfer> transfer, BulkTransport& transport, StagingSet& staging, const Between& between)
      EXCLUDES(thread_.mutex);
  Ref<OutgoingTransfer> take_passing(const PassingRule& rule, std::uint64_t left) EXCLUDES(thread_.mutex);
  void run() EXCLUDES(thread_.mutex);
  void send_all() EXCLUDES(thread_.mutex);
  bool is_idle() const REQUIRES(thread_.mutex) {
    return (waiting_.empty() || transport_ == nullptr) && !thread_.is_stopping();
  }

  TransferTable& table_;
  const Lost lost_;
  BulkTransport* transport_ GUARDED_BY(thread_.mutex) = nullptr;
  std::deque<Ref<OutgoingTransfer>> waiting_ GUARDED_BY(thread_.mutex);
  std::atomic<std::uint64_t> transfers_{0};
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
