#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "server/completion/native.h"
#include "server/driver/staging.h"
#include "server/execution/event.h"
#include "server/execution/queue.h"
#include "server/transfer/offered_chunks.h"
#include "server/transfer/transfer_progress.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Bytes that are sent on the bulk connection, and the command that they belong to. Made under the session's
// lock, then used by one thread at a time: the one that moves the bytes while they move (a bulk receiver or sender, or
// one of TransferTable's), else the holder of the session's lock. A driver's callback reads it after its end.
class Transfer : public RefCounted {
 public:
  Transfer(TransferId id, Queue& queue, Event* event, EventId hold, std::uint64_t size)
      : id_(id), queue_(&queue), event_(event), hold_(hold), size_(size) {}

  TransferId id() const { return id_; }
  Queue& queue() const { return *queue_; }
  // Call it at the end: a driver's callback must not hold the last reference to a queue.
  Ref<Queue> take_queue() REQUIRES(session_lock) { return std::move(queue_); }
  Event* event() const { return event_.get(); }
  EventId hold() const { return hold_; }
  std::uint64_t size() const { return size_; }

  // The command has ended.
  virtual void ended(cl_int) REQUIRES(session_lock) {}

  // All bytes have moved: makes the native event that ends the command. Leaves it null if nothing native is
  // left to wait for, or returns the reason for a failure.
  virtual cl_int finish(Native<cl_event>& native) REQUIRES(session_lock) = 0;

  // The native event of the first step, for profiling.
  void set_first(Native<cl_event> event) { first_ = std::move(event); }
  const Native<cl_event>& first() const { return first_; }
  // Call it once, if the transfer as a whole has failed.
  void set_error(cl_int error) { error_ = error; }
  cl_int error() const { return error_; }
  // What has carried its bytes; kNone: no bulk connection.
  void set_transport(TransportKind transport) { transport_ = transport; }
  TransportKind transport() const { return transport_; }

 protected:
  // Registers memory whose bytes the transport moves, until the transfer is destroyed.
  BulkDestination registered(BulkInput& transport, MutableBytes memory) {
    if (!registration_) registration_ = transport.register_memory(memory);
    return {memory, registration_.get()};
  }

 private:
  const TransferId id_;
  Ref<Queue> queue_;
  const Ref<Event> event_;
  const EventId hold_;
  const std::uint64_t size_;
  Native<cl_event> first_;
  cl_int error_ = CL_SUCCESS;
  TransportKind transport_ = TransportKind::kNone;
  std::unique_ptr<MemoryRegistration> registration_;
};

// From the client.
class IncomingTransfer : public Transfer {
 public:
  using Transfer::Transfer;
  // Called before its bytes are requested: announces their destination to the transport, if all of it exists
  // already.
  virtual void announce_to(BulkTransport&) {}
  // Receives the next `size` bytes. Returns false if the connection has ended.
  virtual bool receive(BulkInput& input, std::uint32_t size, StagingSet& staging) = 0;
  // Takes all bytes, which came before the command could begin.
  void take(std::shared_ptr<std::byte[]> bytes) REQUIRES(session_lock) {
    put(std::move(bytes));
    count(static_cast<std::uint32_t>(size()));
  }

  std::uint64_t received() const { return received_; }
  std::uint64_t left() const { return size() - received_; }
  void count(std::uint32_t size) {
    received_ += size;
    // Wrong bytes are not passed on.
    if (progress_ && error() == CL_SUCCESS) progress_->advance(*this, received_);
  }

  // For cut-through sends of bytes that have been counted. host_memory(): where they stay as long as the transfer
  // lives. Null: they must be read from the device, after the event that written() returns for that many bytes from the
  // beginning has ended. Any thread.
  virtual const std::byte* host_memory() const { return nullptr; }
  virtual Native<cl_event> written(std::uint64_t) { return {}; }
  // The chunks that the client has offered; null: it has not offered any. Set once.
  OfferedChunks* offered() const { return offered_.load(std::memory_order_acquire); }
  void set_offered(std::unique_ptr<OfferedChunks> offered) REQUIRES(session_lock) {
    offered_.store((owned_offered_ = std::move(offered)).get(), std::memory_order_release);
  }
  void reports_to(Ref<TransferProgress> progress) REQUIRES(session_lock) { progress_ = std::move(progress); }
  void ended(cl_int status) override REQUIRES(session_lock) {
    if (const Ref<TransferProgress> progress = std::exchange(progress_, nullptr)) progress->end(status);
  }

 private:
  virtual void put(std::shared_ptr<std::byte[]> bytes) REQUIRES(session_lock) = 0;

  std::uint64_t received_ = 0;
  Ref<TransferProgress> progress_;
  std::atomic<OfferedChunks*> offered_{nullptr};
  std::unique_ptr<OfferedChunks> owned_offered_ GUARDED_BY(session_lock);
};

// To the client.
class OutgoingTransfer : public Transfer {
 public:
  using Transfer::Transfer;
  // Called between two chunks, with the size of the first one and what is left after it: may send other transfers.
  // Returns false if the connection has ended. May be empty.
  using Between = std::function<bool(std::uint64_t sent, std::uint64_t left)>;
  // Sends all bytes in chunks that the transport borrows. Returns false if the connection has ended.
  virtual bool send(BulkTransport& transport, StagingSet& staging, const Between& between) = 0;
  // Returns true if it never waits for bytes of other transfers, which may in turn wait for the one that it passes.
  virtual bool may_pass() const { return true; }

 protected:
  // Lets the transport borrow the next bytes.
  bool send_chunks(BulkTransport& transport, const BulkSource& bytes, const Between& between);

 private:
  std::uint64_t sent_ = 0;
};

}  // namespace remotecl::server
