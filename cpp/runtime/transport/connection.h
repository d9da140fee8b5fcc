#pragma once

#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/crypto/key_pin.h"
#include "runtime/transport/transport_kind.h"

namespace remotecl {

// A connection could not be made, or the peer misbehaved; what() names cause and remedy.
class ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A connected byte stream. One thread may read and another write at the same time; shutdown() may be called by any
// thread and makes both end. Counters may be read by any thread.
class Connection {
 public:
  virtual ~Connection() = default;

  // Blocks until at least one byte has been read. Returns the number of bytes, or 0 if the peer has closed or
  // the connection has broken.
  virtual std::size_t read_some(MutableBytes to) = 0;
  // Like read_some, without blocking: returns -1 if nothing has arrived.
  virtual std::ptrdiff_t try_read_some(MutableBytes to) = 0;
  // Like try_read_some(), for a large `to`: bytes after others that are still missing may be written to their
  // place there before they are reported as read. So the next read must name the memory that follows, unless
  // the caller drops those bytes. May take a moment if more is coming.
  virtual std::ptrdiff_t try_read_ahead(MutableBytes to) { return try_read_some(to); }
  // Called before try_read_some if more is certainly coming: may poll for a moment if sleeping costs more.
  virtual void await_briefly() {}
  // Writes everything, blocking as needed. Returns false if the connection is broken. Changes the vectors, of
  // which there may be at most kPartsMax.
  static constexpr int kPartsMax = 7;
  virtual bool write(iovec* parts, int count) = 0;
  // Like write(), but if keeps_borrowed(), borrowed bytes may be read again until reclaim().
  virtual bool keeps_borrowed() const { return false; }
  virtual bool write_borrowed(Bytes header, Bytes borrowed) { return write(header, borrowed); }
  // Bytes borrowed before this position of the stream, counted like bytes_sent(), may change from now on.
  virtual void reclaim(std::uint64_t /*position*/) {}
  // The position before which borrowed bytes may already change.
  virtual std::uint64_t completed() const { return bytes_sent(); }
  // The other side should soon know that everything read so far has been received.
  virtual void report_received() {}
  // Whether it keeps so many copies of written bytes that borrowing is better.
  virtual bool crowded() { return false; }
  // How many bytes the peer's system has acknowledged, and for how long unacknowledged bytes were outstanding: while
  // the peer had room, which gives the network's speed, and in all. Zeros: unknown. Any thread.
  struct Delivered {
    std::uint64_t bytes = 0;
    double seconds = 0;
    double seconds_in_all = 0;
  };
  virtual Delivered delivered() const { return {}; }
  // The rate to which this side limits its bulk data, because the link is thin, in bytes per second; 0: no limit. Any
  // thread.
  virtual double paced_rate() const { return 0; }
  // Writes what fits without blocking. Returns the number of bytes, or -1 if the connection is broken. If it
  // breaks after some bytes, which the other side may receive, the next call reports that.
  virtual std::ptrdiff_t try_write(Bytes from) = 0;
  // A descriptor for poll(): readable if try_read_some would not return -1.
  virtual int wait_handle() const = 0;
  // Waits until try_write() is worth another attempt, or until the time is over.
  virtual void await_writable(std::chrono::milliseconds time);
  // 0: none. A stream over other connections ends when a read has taken too long.
  virtual void set_read_timeout(std::chrono::milliseconds timeout) = 0;
  virtual void shutdown() = 0;
  // The number of streams among which its bytes are divided; each needs pieces that are worth a wake-up.
  virtual std::size_t streams() const { return 1; }
  // The certificate that the other side has shown in a TLS handshake, or null.
  virtual const PeerCertificate* peer_certificate() const { return nullptr; }
  // What carries its bytes. Not forwarded by connections over others.
  virtual TransportKind kind() const { return TransportKind::kTcp; }
  // After the end: returns true if the other machine has been silent for a while.
  virtual bool vanished() const { return false; }

  bool write(Bytes from) {
    iovec part{const_cast<std::byte*>(from.data()), from.size()};
    return write(&part, 1);
  }
  bool write(Bytes first, Bytes second) {
    iovec parts[2] = {{const_cast<std::byte*>(first.data()), first.size()},
                      {const_cast<std::byte*>(second.data()), second.size()}};
    return write(parts, 2);
  }
  // Reads exactly to.size() bytes. Returns false if the stream ends before.
  bool read_exactly(MutableBytes to) {
    while (!to.empty()) {
      const std::size_t count = read_some(to);
      if (count == 0) return false;
      to = to.subspan(count);
    }
    return true;
  }

  std::uint64_t bytes_sent() const { return bytes_sent_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_received() const { return bytes_received_.load(std::memory_order_relaxed); }

 protected:
  std::atomic<std::uint64_t> bytes_sent_{0};
  std::atomic<std::uint64_t> bytes_received_{0};
};

}  // namespace remotecl
