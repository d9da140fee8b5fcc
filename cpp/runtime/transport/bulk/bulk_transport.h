#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/protocol/compression_counts.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/bulk/rdma_state.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/transport_kind.h"

namespace remotecl {

// What a transport has arranged for memory that it accesses by itself, as long as this object lives.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
};

// Owns memory that may be gone before it has been sent.
class SourceOwner {
 public:
  virtual ~SourceOwner() = default;
  // Copies bytes of that memory. Returns false if it is gone. Any thread.
  virtual bool copy(Bytes from, MutableBytes to) = 0;
};

// Memory that bulk data is sent from or received into, and its registration, or null if the transport needs
// none. A view: the owner of the memory keeps both until the bytes have moved.
struct BulkSource {
  Bytes bytes;
  const MemoryRegistration* registration = nullptr;
  SourceOwner* owner = nullptr;  // null: the memory stays
  BulkSource part(std::size_t offset, std::size_t size) const {
    return {bytes.subspan(offset, size), registration, owner};
  }
};
struct BulkDestination {
  MutableBytes bytes;
  const MemoryRegistration* registration = nullptr;
  BulkDestination part(std::size_t offset, std::size_t size) const {
    return {bytes.subspan(offset, size), registration};
  }
  operator BulkSource() const { return {bytes, registration, nullptr}; }
};

// What a transfer receives its bytes from. One thread.
class BulkInput {
 public:
  virtual ~BulkInput() = default;

  // Call it where the memory is made. Null if there is nothing to arrange.
  virtual std::unique_ptr<MemoryRegistration> register_memory(MutableBytes /*memory*/) { return nullptr; }
  // The same for memory that all bytes pass through, and that counts as the session's while the transport locks it.
  virtual std::unique_ptr<MemoryRegistration> register_staging(MutableBytes memory) { return register_memory(memory); }
  // Waits until the next bytes have arrived and fill `to`. Returns false at the end.
  virtual bool receive(const BulkDestination& to) = 0;
  // The number of connections among which the bytes are divided; each needs pieces that are worth a wake-up.
  virtual std::size_t streams() const = 0;
  // The size of the pieces in which a device's bulk data passes staging memory, unless there is little of it.
  virtual std::size_t staging_piece() const { return kStagingSlot; }
};

// Moves bulk data between two processes in chunks, each after a header that names its transfer. One thread
// receives while another one sends; any thread, unless noted otherwise. After shutdown(), or when the other
// side is gone, all functions below return at once and fail.
class BulkTransport : public BulkInput {
 public:
  // ---- Sending, by one thread at a time.
  enum class Use { kCopied, kBorrowed };
  // Sends a chunk of `bytes.bytes.size()` bytes, blocking as needed. kBorrowed: they must not change until
  // completed() has reached the position after them, or until reclaim(). Returns false if the transport has
  // ended.
  virtual bool send(const BulkHeader& header, const BulkSource& bytes, Use use) = 0;
  // The size of the chunks of a large transfer. On a thin link it is what leaves soon, because other transfers wait for
  // it. Any thread.
  virtual std::size_t chunk_size() const { return kBulkChunkMax; }
  // Whether chunks of others may come between those of a transfer at no cost.
  virtual bool may_alternate() const { return true; }
  // Returns true if borrowed bytes are read after send() has returned.
  virtual bool keeps_borrowed() const = 0;
  // The position after what has been sent, in bytes. Any thread.
  virtual std::uint64_t bytes_sent() const = 0;
  // The position before which borrowed bytes belong to the caller again. Any thread.
  virtual std::uint64_t completed() const = 0;
  // Waits until bytes borrowed before `position` belong to the caller again, or ensures it.
  virtual void reclaim(std::uint64_t position) = 0;
  // The end of a transfer: waits for borrowed bytes whose completion the other side does not report.
  virtual void settle() {}
  // What has carried the last bytes that were sent. For the sending thread.
  virtual TransportKind sent_by() const = 0;
  // See Connection::delivered(). Any thread.
  virtual Connection::Delivered delivered() const { return {}; }

  // ---- Receiving, by one thread.
  // Names the destination of a transfer's bytes, on any thread, before the sender is asked to send. A
  // transport whose sender writes there by itself passes it on; receive() must then name the same memory.
  // Without an announcement, the sender learns the destination from receive(). Returns true if it was passed on: then
  // withdraw() is needed where not all bytes come.
  virtual bool announce(std::uint64_t /*transfer*/, const BulkDestination& /*to*/) { return false; }
  // The transfer is abandoned: nothing is written to its destination any more. Any thread.
  virtual void withdraw(std::uint64_t /*transfer*/) {}
  // Waits for the next chunk, whose bytes must be received before the next header. Returns false at the end.
  virtual bool receive_header(BulkHeader& header) = 0;
  // The same without blocking: return the number of bytes, -1 if nothing has arrived, 0 at the end. A
  // positive result for a header means that it is complete. `to`: the destination of the rest of the chunk,
  // whose memory after the received bytes may be written too.
  virtual std::ptrdiff_t try_receive_header(BulkHeader& header) = 0;
  virtual std::ptrdiff_t try_receive(const BulkDestination& to) = 0;
  // Like try_receive(), for at most `size` bytes that are discarded.
  virtual std::ptrdiff_t try_discard(std::size_t size) = 0;
  // More is on its way for sure: may look for it for a moment, where sleeping costs more.
  virtual void await_briefly() {}
  // The other side should soon know that everything read so far has been received.
  virtual void report_received() = 0;
  // For poll(): readable if the non-blocking functions would not return -1. Valid until the receiving thread
  // calls one of them.
  virtual int wait_handle() const = 0;
  virtual std::uint64_t bytes_received() const = 0;  // any thread
  // What has carried the last chunk that was received. For the receiving thread.
  virtual TransportKind received_by() const = 0;
  // What the network card has moved by itself, which bytes_sent() and bytes_received() leave out, or why it moves
  // nothing. Any thread.
  virtual RdmaState rdma() const { return {}; }
  // What of the bytes was compressed. Any thread.
  virtual CompressionCounts compression() const { return {}; }

  // Ends the transport. Any thread.
  virtual void shutdown() = 0;
  // After the end: returns true if the other machine has been silent for a while.
  virtual bool vanished() const = 0;
  // After the end, for the receiving thread: how the other side has broken the protocol; empty: it has not.
  virtual const std::string& violation() const {
    static const std::string kNone;
    return kNone;
  }

  // Sends the reason for a failure in place of the rest of a transfer.
  bool send_failure(std::uint64_t transfer, std::int32_t status) {
    return send({transfer, 0, status}, {}, Use::kCopied);
  }
};

}  // namespace remotecl
