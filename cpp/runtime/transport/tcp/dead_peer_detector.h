#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "runtime/base/mutex.h"

namespace remotecl {

class StreamConnection;

// REMOTECL_HEARTBEAT in the environment, in seconds; 5 without.
std::chrono::seconds heartbeat_interval();

// Notices within three heartbeats that the other machine of a TCP connection, or the network to it, is gone, whatever
// the programs at both ends are doing. The system's keepalive does that for connections that are idle. Bytes under way
// it would send again for a quarter of an hour: this ends a connection whose bytes nobody acknowledges. (The socket
// option for it, TCP_USER_TIMEOUT, ends those too whose other end only reads nothing for a while.)
//
// Notices as well when the rest of a TLS record does not come although the other machine answers and sends nothing
// else: the record's size, which nothing protects until all of it is there, was corrupted on the way, and both sides
// wait. Or the other program was stopped in the middle. So the connection is not ended here: only what is written to it
// is, and the other side ends the rest as soon as it sees that.
//
// One for the process, with a thread that is made for the first connection to another machine, or with TLS, and looks a
// few times a heartbeat.
class DeadPeerDetector {
 public:
  static DeadPeerDetector& instance();

  // From now on until forget(); by the connection itself.
  void watch(StreamConnection& connection) EXCLUDES(mutex_);
  // One that tells whether it awaits the rest of something, also if its other end is on this machine.
  void watch_rest(StreamConnection& connection) EXCLUDES(mutex_);
  void forget(StreamConnection& connection) EXCLUDES(mutex_);

 private:
  [[noreturn]] void run() EXCLUDES(mutex_);

  Mutex mutex_;
  // With what they had received at the last look if they were starving.
  std::unordered_map<StreamConnection*, std::optional<std::uint64_t>> watched_ GUARDED_BY(mutex_);
  bool has_thread_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
