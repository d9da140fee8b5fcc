#pragma once

#include <memory>
#include <utility>

#include "runtime/transport/connection.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Passes bytes between a connection that only this process can read (TLS) and a socket that another one can have.
class TlsRelay {
 public:
  // Throws std::system_error.
  explicit TlsRelay(std::unique_ptr<Connection> outer);

  // What the other process gets. Once.
  Descriptor take_end() { return std::move(end_); }
  // Instead of run().
  std::unique_ptr<Connection> give_back() { return std::move(outer_); }

  // Until neither side has anything more to say, or shutdown(). The end of one direction is passed on, and ends the
  // other one only when nobody is left to read there. On one thread; it uses another one.
  void run();
  // Any thread.
  void shutdown();

 private:
  std::unique_ptr<Connection> outer_;
  std::unique_ptr<Connection> inner_;
  Descriptor end_;
};

}  // namespace remotecl::server
