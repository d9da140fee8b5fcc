#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/admission/handshake.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/users.h"
#include "server/status/status_report.h"

namespace remotecl::server {

// Where sessions live. Owned by the server; any thread.
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The session of a client that was admitted, from its welcome to its end.
  virtual void serve_session(IncomingConnection& arrival, const Admission& admission, std::unique_ptr<Grant> grant) = 0;
  // Another connection, which names a session: the client's, for more of it or in place of one that it has lost, or
  // that of a peer.
  virtual void serve_further(IncomingConnection& arrival) = 0;

  // All sessions end, and their clients are told that the server does; later ones do not begin.
  virtual void close() = 0;
  // For a monitor at `from`, which asks again within `patience`: it sees the sessions of its own address, on loopback
  // all of them.
  virtual StatusReport report(const Address& from, std::chrono::seconds patience) = 0;
  // Ends a session of `user`, null: of anybody, and tells its client `words`. Waits for its end, though not for long:
  // native work can take any time.
  virtual KickResult kick(std::uint64_t session, const User* user, const std::string& words) = 0;
  // How many sessions have ended because what served them crashed, and this did not.
  virtual std::uint64_t crashes() const { return 0; }
};

}  // namespace remotecl::server
