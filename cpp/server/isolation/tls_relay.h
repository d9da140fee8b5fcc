#pragma once

#include <memory>
#include <utility>

#include "runtime/transport/connection.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Passes bytes between a TLS connection, which only this process can decrypt, and a socket that another
// process can have.
class TlsRelay {
 public:
  // Throws std::system_error; `outer` is then still its owner's.
  explicit TlsRelay(std::unique_ptr<Connection>& outer);

  // The socket for the other process. Called once.
  Descriptor take_end() { return std::move(end_); }
  // Instead of run().
  std::unique_ptr<Connection> give_back() { return std::move(outer_); }

  // Runs until both sides have nothing left to say, or shutdown(). The end of one direction is passed on, and
  // the other direction ends only when its reader is gone. Uses this thread and another one; without that one, closes
  // the connection.
  void run();
  // Any thread.
  void shutdown();

 private:
  std::unique_ptr<Connection> outer_;
  std::unique_ptr<Connection> inner_;
  Descriptor end_;
};

}  // namespace remotecl::server
