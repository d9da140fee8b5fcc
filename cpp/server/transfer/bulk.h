#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "server/transfer/transfer.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class TransferTable;

// The reading side of a bulk connection, from the client or from a peer. Owned by the session or the link; any thread
// where nothing else is said.
//
// Bytes are pulled, or, where they have been announced as such, pushed: those are kept here until their command may
// begin, so that they never hold up what comes behind them.
class BulkReceiver {
 public:
  enum class Pushes { kTaken, kRefused };

  // `outbox`: where it asks for bytes. `channel`: of the session, where pushes are taken.
  BulkReceiver(TransferTable& table, Outbox& outbox, Pushes pushes, unsigned channel = 0);

  // The bytes of a write will come without being pulled. Throws ProtocolError, HeldTooMuch.
  void announce_push(TransferId id, std::uint64_t size) EXCLUDES(mutex_);
  // The command of a pushed write has failed before it began: what comes is thrown away. Else nothing happens.
  void drop_push(TransferId id) EXCLUDES(mutex_);
  // What run() will receive from, and so what pull() announces memory to. Any thread.
  void connect(BulkTransport& transport) { transport_.store(&transport, std::memory_order_release); }
  // The command may begin: asks for the bytes, unless they are pushed. False when the id is in use.
  bool pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  // Forgets a transfer none of whose bytes have come; null when there is none such.
  Ref<IncomingTransfer> cancel(TransferId id) EXCLUDES(mutex_);
  // On a thread of its own, until the transport ends. Throws ProtocolError.
  void run(BulkTransport& transport) EXCLUDES(mutex_);
  // run() will wait for no command any more; the transport must have been shut down.
  void stop() EXCLUDES(mutex_);
  // What has not come. After run().
  std::vector<Ref<IncomingTransfer>> take_all() EXCLUDES(mutex_);
  // How many transfers have come whole.
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }

 private:
  // How long bytes that have come wait, in the socket, for their command to begin before they are taken out.
  static constexpr std::chrono::microseconds kPatience{100};

  struct Expected {
    Ref<IncomingTransfer> transfer;  // null: its command has not begun
    bool begun = false;              // run() is using it
    std::uint64_t pushed = 0;        // size of a pushed write; 0: pulled
    bool dropped = false;            // nobody wants the bytes
    std::shared_ptr<std::byte[]> early;
  };

  Ref<IncomingTransfer> begin(const BulkHeader& header) EXCLUDES(mutex_);
  Ref<IncomingTransfer> begin_pushed(const BulkHeader& header) EXCLUDES(mutex_);
  bool receive_early(BulkTransport& transport, const BulkHeader& header) EXCLUDES(mutex_);
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
  ConditionVariable changed_;  // something is announced, has begun, or was dropped
  std::unordered_map<TransferId, Expected> expected_ GUARDED_BY(mutex_);
  std::uint64_t pushed_ GUARDED_BY(mutex_) = 0;  // bytes of pushed writes in expected_
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;   // those before
  std::uint64_t told_ GUARDED_BY(mutex_) = 0;    // of these, what the client knows of
  HeldMemory held_ GUARDED_BY(mutex_);           // by expected_ and pushed bytes that are here
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> transfers_{0};
};

// The writing side: a thread of its own, made with the first transfer, because whoever reads may be slow.
// Owned by the session or the link; post() may be called by any thread, a driver's callback too.
class BulkSender {
 public:
  // `lost` is called on the sending thread when the transport is found to have ended, and by post() when there can be
  // no such thread.
  BulkSender(TransferTable& table, std::function<void()> lost) : table_(table), lost_(std::move(lost)) {}
  ~BulkSender() { stop(); }

  void connect(BulkTransport& transport) EXCLUDES(mutex_);
  void post(Ref<OutgoingTransfer> transfer) EXCLUDES(mutex_);
  // Waits for the transfer that is being sent: the transport must have been shut down. Gives back what was not sent.
  std::vector<Ref<OutgoingTransfer>> stop() EXCLUDES(mutex_);
  // How many transfers have been sent whole.
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }

 private:
  void run() EXCLUDES(mutex_);

  TransferTable& table_;
  const std::function<void()> lost_;
  Mutex mutex_;
  ConditionVariable wake_;
  BulkTransport* transport_ GUARDED_BY(mutex_) = nullptr;
  std::deque<Ref<OutgoingTransfer>> waiting_ GUARDED_BY(mutex_);
  Ref<OutgoingTransfer> broken_ GUARDED_BY(mutex_);  // was being sent when the transport ended
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> transfers_{0};
};

}  // namespace remotecl::server
