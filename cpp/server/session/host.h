#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/admission/handshake.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/users.h"
#include "server/status/status_report.h"
#include "server/status/viewer.h"

namespace remotecl::server {

// Where sessions live. Owned by the server; any thread.
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Serves the session of an admitted client, from its Welcome to its end.
  virtual void serve_session(IncomingConnection& incoming, const Admission& admission,
                             std::unique_ptr<Grant> grant) = 0;
  // Serves a connection that names an existing session: a further one of the client, one that replaces a lost
  // one, or a peer's.
  virtual void serve_further(IncomingConnection& incoming) = 0;

  // Ends all sessions, telling their clients that the server ends, and starts no more.
  virtual void close() = 0;
  // For a monitor that is expected to ask again within `patience`.
  virtual StatusReport report(const Viewer& viewer, std::chrono::seconds patience) = 0;
  // Ends a session of `user` (null: of any user) and passes `words` to its client. Waits for its end, but not
  // for long, because native work can take any time.
  virtual KickResult kick(std::uint64_t session, const User* user, const std::string& words) = 0;
  // How many sessions ended because their process crashed.
  virtual std::uint64_t crashes() const { return 0; }
};

}  // namespace remotecl::server
