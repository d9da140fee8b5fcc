#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "runtime/base/mutex.h"

namespace remotecl {

class StreamConnection;

// REMOTECL_HEARTBEAT from the environment, in seconds; the default is 5.
std::chrono::seconds heartbeat_interval();

// Notices within three heartbeats that the other machine of a TCP connection, or the network to it, is gone,
// whatever the programs at both ends are doing. For idle connections the system's keepalive does that. Bytes
// in flight, however, it would retransmit for a quarter of an hour: this class ends a connection whose bytes
// are not acknowledged. (The socket option TCP_USER_TIMEOUT would also end connections whose peer merely does
// not read for a while.)
//
// It also notices if the rest of a TLS record does not arrive although the other machine answers. Then the
// record's size, which is not verified until the record is complete, was corrupted on the way, and both sides
// wait. Or the other program was stopped while it was sending. Therefore it only shuts down writing; the
// other side ends the connection when it sees that.
//
// There is one for the process. Its thread is started for the first TLS connection or the first one to
// another machine, and looks a few times per heartbeat.
class DeadPeerDetector {
 public:
  static DeadPeerDetector& instance();

  // Watches the connection until forget(). Called by the connection itself.
  void watch(StreamConnection& connection) EXCLUDES(mutex_);
  // Watches only whether the rest of something arrives; for a connection that says what it awaits, even if
  // the other end is on this machine.
  void watch_rest(StreamConnection& connection) EXCLUDES(mutex_);
  void forget(StreamConnection& connection) EXCLUDES(mutex_);

 private:
  [[noreturn]] void run() EXCLUDES(mutex_);

  Mutex mutex_;
  // The value is what a starving connection had received at the last look.
  std::unordered_map<StreamConnection*, std::optional<std::uint64_t>> watched_ GUARDED_BY(mutex_);
  bool has_thread_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
