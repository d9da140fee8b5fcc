#pragma once

#include <memory>
#include <string>

#include "server/arrival.h"
#include "server/handshake.h"
#include "server/users.h"

namespace remotecl::server {

// Where sessions live. Owned by the server; any thread.
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The session of a client that was admitted, from its welcome to its end.
  virtual void serve_session(Arrival& arrival, const Admission& admission, std::unique_ptr<Grant> grant) = 0;
  // Another connection, which names a session: the client's, for more of it or in place of one that it has lost, or
  // that of a peer.
  virtual void serve_further(Arrival& arrival) = 0;

  // All sessions end, with last words for their clients; later ones do not begin.
  virtual void close(const std::string& text) = 0;
};

}  // namespace remotecl::server
