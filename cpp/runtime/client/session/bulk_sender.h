#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

// The writing side of a channel. The thread that waits for a write sends its bytes; those that nobody waits for are
// sent by a thread that is started with the first of them. Owned by the channel. Any thread.
class BulkSender {
 public:
  struct Lent {
    std::uint64_t end;  // as BulkTransport::bytes_sent() counts
    TransferRef transfer;
    std::unique_ptr<MemoryRegistration> registration;
  };

  explicit BulkSender(ChannelSession& session) : session_(session) {}
  ~BulkSender() { stop(); }
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // Once, before anything else. The transport stays valid until release().
  void use(BulkTransport& transport) EXCLUDES(write_mutex_, lent_mutex_);
  // Sends the bytes of a transfer from the calling thread, which waits until the server has them if the transfer says
  // so. Returns false if the connection has ended.
  bool send(const TransferRef& transfer) EXCLUDES(write_mutex_, lent_mutex_);
  // Has this sender's own thread do that. The transfer fails if no thread can be started.
  void post(TransferRef transfer) EXCLUDES(queue_mutex_, write_mutex_);
  // Ends the transfers that the server reports to have received.
  void end_received() EXCLUDES(lent_mutex_);
  std::uint64_t transfers() const { return transfers_.load(std::memory_order_relaxed); }  // sent whole

  // Nothing is sent any more.
  void shutdown() EXCLUDES(queue_mutex_);
  // Ends the thread; the transport must have been shut down.
  void stop() EXCLUDES(queue_mutex_);
  // After stop(): forgets the transport. The memory that is still lent to it must outlive it.
  std::deque<Lent> release() EXCLUDES(write_mutex_, lent_mutex_);

 private:
  std::unique_ptr<MemoryRegistration> register_memory(std::byte* memory, std::uint64_t size) EXCLUDES(write_mutex_);
  void run() EXCLUDES(queue_mutex_);

  ChannelSession& session_;
  std::atomic<std::uint64_t> transfers_{0};
  Mutex write_mutex_;  // the sending side of the transport
  Mutex lent_mutex_;
  BulkTransport* transport_ = nullptr;             // changed with write_mutex_ and lent_mutex_
  bool lends_ = false;                             // the transport keeps what it is lent
  std::deque<Lent> lent_ GUARDED_BY(lent_mutex_);  // sent, and perhaps to be sent again
  Mutex queue_mutex_;
  ConditionVariable wanted_;
  std::deque<TransferRef> queue_ GUARDED_BY(queue_mutex_);
  std::thread thread_ GUARDED_BY(queue_mutex_);
  bool is_over_ GUARDED_BY(queue_mutex_) = false;
};

}  // namespace remotecl
