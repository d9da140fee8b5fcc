#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/protocol/frames.h"

namespace remotecl {

// What a transport has arranged for memory that it reads or writes by itself, as long as this lives.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
};

// Memory that bulk data is sent from or received into, and its registration; null where the transport needs none. A
// view: whoever made the memory keeps both until the bytes have moved.
struct BulkSource {
  Bytes bytes;
  const MemoryRegistration* registration = nullptr;
  BulkSource part(std::size_t offset, std::size_t size) const { return {bytes.subspan(offset, size), registration}; }
};
struct BulkDestination {
  MutableBytes bytes;
  const MemoryRegistration* registration = nullptr;
  BulkDestination part(std::size_t offset, std::size_t size) const {
    return {bytes.subspan(offset, size), registration};
  }
  operator BulkSource() const { return {bytes, registration}; }
};

// How bulk data moves between two processes: in chunks, each after a header that names its transfer. One thread
// receives while another one sends; any thread where nothing else is said. After shutdown(), or when the other side is
// gone, everything below returns at once and fails.
class BulkTransport {
 public:
  virtual ~BulkTransport() = default;

  // To be called where the memory is made. Null: there is nothing to arrange.
  virtual std::unique_ptr<MemoryRegistration> register_memory(MutableBytes /*memory*/) { return nullptr; }

  // ---- Sending, by one thread at a time.
  enum class Use { kCopied, kLent };
  // Sends a chunk of `bytes.bytes.size()` bytes, blocking as needed. kLent: they stay as they are until completed() has
  // reached the position after them, or until reclaim(). False when the transport has ended.
  virtual bool send(const BulkHeader& header, const BulkSource& bytes, Use use) = 0;
  // Whether lent bytes are read after send() has returned.
  virtual bool keeps_lent() const = 0;
  // The position after what has been sent, in bytes. Any thread.
  virtual std::uint64_t bytes_sent() const = 0;
  // What was lent before this position is the caller's again. Any thread.
  virtual std::uint64_t completed() const = 0;
  // Waits until that is so of what was lent before `position`, or sees to it.
  virtual void reclaim(std::uint64_t position) = 0;

  // ---- Receiving, by one thread.
  // Any thread, before the sender is told to send: where the bytes of a transfer go. A transport whose sender writes
  // there by itself passes it on; receive() then names the same memory. Where nothing has been announced the sender
  // learns it from receive().
  virtual void announce(std::uint64_t /*transfer*/, const BulkDestination& /*to*/) {}
  // Waits for the next chunk; its bytes must be received before the next header. False at the end.
  virtual bool receive_header(BulkHeader& header) = 0;
  // Waits until the next bytes of the chunk are there, as many as `to` has. False at the end.
  virtual bool receive(const BulkDestination& to) = 0;
  // As those, without blocking: how many bytes, -1 when there is nothing, 0 at the end. Positive, for a header: it is
  // complete. `to`: where the rest of the chunk goes, so the memory behind what is received may be written, too.
  virtual std::ptrdiff_t try_receive_header(BulkHeader& header) = 0;
  virtual std::ptrdiff_t try_receive(const BulkDestination& to) = 0;
  // As try_receive(), of at most `size` bytes that nobody wants.
  virtual std::ptrdiff_t try_discard(std::size_t size) = 0;
  // More is on its way for sure: may look for it for a moment, where sleeping costs more.
  virtual void await_briefly() {}
  // The other side should soon know that everything that has been read was received.
  virtual void report_received() = 0;
  // For poll(): readable when the functions that do not block would not return -1. Valid until the thread that receives
  // calls one of them.
  virtual int wait_handle() const = 0;
  virtual std::uint64_t bytes_received() const = 0;  // any thread

  // Ends it, in any thread.
  virtual void shutdown() = 0;
  // After its end: whether nothing has been heard of the other machine for a while.
  virtual bool vanished() const = 0;
  // Over how many connections the bytes are divided; each wants pieces that are worth a wake-up.
  virtual std::size_t streams() const = 0;

  // Instead of the rest of a transfer: why it has failed.
  bool send_failure(std::uint64_t transfer, std::int32_t status) {
    return send({transfer, 0, status}, {}, Use::kCopied);
  }
};

}  // namespace remotecl
