#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/handshake/handshake.h"
#include "runtime/transport/tls/tls.h"
#include "server/admission/rejection_counts.h"

namespace remotecl::server {

// Reads a Hello in time. Empty for a peer that is none of ours: it gets no answer, unless it speaks TLS, where none is
// spoken.
std::optional<Hello> read_hello(Connection& connection, std::uint64_t epoch, Deadline deadline);

// Whether the handshake can begin, inside of TLS. Otherwise whoever it was has been told why.
bool secure(TlsConnection& connection, std::uint64_t epoch, Deadline deadline);

// Whether a client has shown a certificate that is accepted. Otherwise it is refused.
bool has_certificate(Connection& connection, std::uint64_t epoch);

// A client that may have a session.
struct Admission {
  std::uint64_t session;  // its new name
  Secret secret;          // the session's: what its further connections prove to know
  Secret shown;           // what its welcome says in that place: this secret, or the proof of knowing the token
  std::uint64_t features;
  std::size_t token = 0;  // which one it knows
};

// Whether a client may have a session: where there are `tokens` it has to prove in time that it knows one. Otherwise it
// is refused, which is counted, and the answer empty.
std::optional<Admission> admit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                               std::span<const AccessToken> tokens, Deadline deadline, RejectionCounts& refusals);
void welcome(Connection& connection, std::uint64_t epoch, const Admission& admission);

// Accepts a connection of a session, or a peer's, that has proved to know `secret`; so does the answer.
void welcome(Connection& connection, std::uint64_t epoch, const Hello& hello, const Secret& secret,
             std::uint64_t features);
// Somebody who comes back for a stream.
struct Return {
  std::size_t secret;  // which one it has proved to know
  std::uint64_t received;
  Secret shown;  // what its welcome says in place of the secret
  Secret stripes_key;
};
// Whether it has proved in time to know one of the secrets; if not, it gets no answer. `features`: of the Welcome.
std::optional<Return> readmit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                              std::span<const Secret> secrets, std::uint64_t features, Deadline deadline);
void welcome_back(Connection& connection, std::uint64_t epoch, const Hello& hello, const Return& back,
                  std::uint64_t features, std::uint64_t received);
void refuse(Connection& connection, std::uint64_t epoch, WelcomeStatus status, std::string_view text);
std::string version_mismatch_text(std::uint32_t client_version);

}  // namespace remotecl::server
