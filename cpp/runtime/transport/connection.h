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

namespace remotecl {

// A connection could not be made, or the peer did not behave; what() names cause and remedy.
class ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A connected byte stream. One thread may read and another write at the same time; shutdown() may be called by any
// thread and makes both end. Counters may be read by any thread.
class Connection {
 public:
  virtual ~Connection() = default;

  // Blocks for at least one byte. Returns how many were read; 0 when the peer closed or the connection broke.
  virtual std::size_t read_some(MutableBytes to) = 0;
  // As read_some, without blocking: -1 when nothing is there.
  virtual std::ptrdiff_t try_read_some(MutableBytes to) = 0;
  // As try_read_some(), for a large `to`: what comes behind bytes that are still missing may be put in its place there
  // before it is told as read. So whoever reads on has to name the memory that follows, or does not want those bytes.
  // May take a moment, where more is coming.
  virtual std::ptrdiff_t try_read_ahead(MutableBytes to) { return try_read_some(to); }
  // Before try_read_some, when more is on its way for sure: may look for it for a moment, where sleeping costs more.
  virtual void await_briefly() {}
  // Writes everything, blocking as needed; false when the connection is broken. Changes the vectors, of which there are
  // at most kPartsMax.
  static constexpr int kPartsMax = 7;
  virtual bool write(iovec* parts, int count) = 0;
  // As write(), but where it keeps what is lent it may read that again until reclaim().
  virtual bool keeps_lent() const { return false; }
  virtual bool write_lent(Bytes header, Bytes lent) { return write(header, lent); }
  // What was lent before this position of the stream, as bytes_sent() counts it, may change from now on.
  virtual void reclaim(std::uint64_t /*position*/) {}
  // The position before which that is so already.
  virtual std::uint64_t completed() const { return bytes_sent(); }
  // The other side should soon know that everything that has been read was received.
  virtual void tell_received() {}
  // Writes what fits without blocking: the number of bytes, or -1 when the connection is broken. Where it breaks after
  // some of them, which the other side may receive, that is told by the next call.
  virtual std::ptrdiff_t try_write(Bytes from) = 0;
  // A descriptor for poll(): readable when try_read_some would not return -1.
  virtual int wait_handle() const = 0;
  // Waits until try_write() is worth another try, or for the time.
  virtual void await_writable(std::chrono::milliseconds time);
  // 0: none. A stream over other connections is over when a read has taken too long.
  virtual void set_read_timeout(std::chrono::milliseconds timeout) = 0;
  virtual void shutdown() = 0;
  // Over how many streams its bytes are divided; each wants pieces that are worth a wake-up.
  virtual std::size_t streams() const { return 1; }
  // What the other side has shown in a handshake of TLS; null: nothing, or there was none.
  virtual const PeerCertificate* peer_certificate() const { return nullptr; }
  // After its end: whether nothing has been heard of the other machine for a while.
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
  // Reads exactly to.size() bytes; false when the stream ends before.
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
