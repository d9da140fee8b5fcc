#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/client/session/row_unpacker.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

class BulkChannel;

// The reading side of a channel: puts chunks into the memory of the transfers that they belong to. Owned by the
// channel. One thread reads at a time; expect_rest() and transfers() may be called by any thread.
class BulkReceiver {
 public:
  BulkReceiver(ChannelSession& session, const BulkChannel& channel, unsigned number)
      : session_(session), channel_(channel), number_(number) {}
  BulkReceiver(const BulkReceiver&) = delete;
  BulkReceiver& operator=(const BulkReceiver&) = delete;

  // Call it once, before anything else. The transport must outlive all reading.
  void use(BulkTransport& transport) { transport_ = &transport; }
  // Reads what has arrived. Returns false at the end of the stream, and if the server breaks the protocol.
  bool read();
  // Called by the transport on the reading thread: the server should learn that this many bytes of the stream
  // have been received.
  void acknowledge_later(std::uint64_t received) {
    acknowledged_bytes_ = received;
    is_acknowledge_due_ = true;
  }
  // A receive has failed, but more of its bytes may come; they are discarded. The caller holds the transfer's
  // mutex, and the transfer is still in the session's table.
  void expect_rest(const TransferRef& failed) EXCLUDES(failed_mutex_);
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }  // received whole

 private:
  TransferRef find_transfer(TransferId id) EXCLUDES(failed_mutex_);
  void forget_failed(TransferId id) EXCLUDES(failed_mutex_);
  void note_failure(TransferId id);
  bool begin_chunk(const BulkHeader& header);
  bool prepare_memory(std::uint64_t size) REQUIRES(transfer_->mutex);
  void announce_whole() REQUIRES(transfer_->mutex);
  void release_memory();
  std::ptrdiff_t read_piece(bool& is_complete);
  void acknowledge();

  // At most this much is read before the session's reader looks at the other connections.
  static constexpr std::uint64_t kTurn = 1u << 20;
  // Most failed receives get no more bytes, and more of them than this cannot have bytes on the way.
  static constexpr std::size_t kFailedMax = 1024;

  ChannelSession& session_;
  const BulkChannel& channel_;
  const unsigned number_;
  BulkTransport* transport_ = nullptr;  // constant after use()
  std::atomic<std::uint64_t> transfers_{0};
  Mutex failed_mutex_;
  std::deque<TransferRef> failed_ GUARDED_BY(failed_mutex_);  // receives of which more may come, oldest first

  // Used only by the reading thread.
  TransferRef transfer_;  // the transfer whose chunk is being read
  RowUnpacker unpacker_;  // of transfer_, if its rows have gaps
  std::unique_ptr<MemoryRegistration> registration_;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t acknowledged_bytes_ = 0;
  bool is_acknowledge_due_ = false;
};

}  // namespace remotecl
