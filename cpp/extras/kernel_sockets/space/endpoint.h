#pragma once

#include <cstdint>

#include "extras/kernel_sockets/space/rings.h"

namespace remotecl::server {

// How far an Endpoint came.
struct Moved {
  std::uint32_t bytes = 0;
  bool is_blocked = false;  // goes on once the endpoint is ready again
  bool has_ended = false;   // nothing comes any more
  int error = 0;            // a positive errno
};

// What a kernel's socket leads to: a socket of this machine, or another kernel. Used by one proxy thread.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Moves bytes from the ring until it is empty, or into the ring until it is full.
  virtual Moved send(SendRing& ring) = 0;
  virtual Moved receive(ReceiveRing& ring) = 0;
  // Nothing will be sent any more.
  virtual void shutdown() = 0;
  // A positive errno if the machine at the other end seems to have vanished. Asked from time to time.
  virtual int loss() const { return 0; }
  // What epoll reports on; -1 if it is no socket of this machine.
  virtual int descriptor() const { return -1; }
};

}  // namespace remotecl::server
