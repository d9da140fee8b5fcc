#pragma once

#include <chrono>
#include <unordered_set>

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
// And that the rest of a record of TLS does not come though the other machine answers: its size, which nothing protects
// until all of it is there, was corrupted on the way, and both sides wait. Or the other program was stopped in the
// middle. So nothing is ended: the other side is told, and ends the connection as soon as it looks.
//
// One for the process, with a thread that is made for the first connection to another machine, or with TLS, and looks a
// few times a heartbeat.
class VanishedPeers {
 public:
  static VanishedPeers& instance();

  // From now on until forget(); by the connection itself.
  void watch(StreamConnection& connection) EXCLUDES(mutex_);
  // One that tells whether it awaits the rest of something, also if its other end is on this machine.
  void watch_rest(StreamConnection& connection) EXCLUDES(mutex_);
  void forget(StreamConnection& connection) EXCLUDES(mutex_);

 private:
  [[noreturn]] void run() EXCLUDES(mutex_);

  Mutex mutex_;
  std::unordered_set<StreamConnection*> watched_ GUARDED_BY(mutex_);
  bool has_thread_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
