#pragma once

#include "extras/kernel_sockets/space/socket_address.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// Opens the sockets that kernels ask for, where the operator allows it. Called by a network's helper threads, several
// at a time, and may block while a name is resolved. A network that ends does not wait for a call, so the broker may be
// in use for some seconds after the last network that has it. Never called for rcl: addresses.
class SocketBroker : public RefCounted {
 public:
  // A non-blocking socket with close-on-exec that is connected or connecting; of kUdp one that sends to that address
  // only. Otherwise a negative errno: -EACCES if the operator does not allow it, -EHOSTUNREACH if the name is unknown.
  virtual int connect(const SocketAddress& address) = 0;
  // The same, bound; of other kinds than kUdp one that is readable while accept() would return a connection. Sets
  // `port` to the port that it has.
  virtual int bind(const SocketAddress& address, int backlog, std::uint16_t& port) = 0;
  // Takes a connection from a descriptor that bind() returned: a non-blocking socket with close-on-exec, or a negative
  // errno, which is -EAGAIN if there is none. Called on a network's proxy thread, so it may not block. The default is
  // accept4(), which a process may be denied.
  virtual int accept(int listener);
  // Where datagrams to a kUdp address go. 0 or a negative errno.
  virtual int resolve(const SocketAddress& address, SocketPeer& peer) = 0;
};

}  // namespace remotecl::server
