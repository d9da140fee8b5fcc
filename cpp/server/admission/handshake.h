#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/handshake/handshake.h"
#include "runtime/transport/tls/tls.h"
#include "server/admission/rejection_counts.h"

namespace remotecl::server {

// Reads a Hello before the deadline. Returns nothing if the peer speaks another protocol. Such a peer gets no
// answer, unless it speaks TLS to a daemon without TLS.
std::optional<Hello> read_hello(Connection& connection, std::uint64_t epoch, Deadline deadline);

// Does the TLS handshake. Returns false if it failed; the peer has then been given the reason.
bool secure(TlsConnection& connection, std::uint64_t epoch, Deadline deadline);

// Whether the client has presented an accepted certificate. If not, refuses it.
bool has_certificate(Connection& connection, std::uint64_t epoch);

// A client that may have a session.
struct Admission {
  std::uint64_t session;  // the new session's id
  Secret secret;          // the session's secret; its further connections prove that they know it
  Secret shown;           // sent in the Welcome: the secret, or the proof of knowing the token
  std::uint64_t features;
  std::size_t token = 0;  // index of the token that it knows
};

// Decides whether a client may have a session: if there are `tokens`, it must prove before the deadline that
// it knows one. Otherwise refuses it, counts that and returns nothing.
std::optional<Admission> admit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                               std::span<const AccessToken> tokens, Deadline deadline, RejectionCounts& refusals);
void welcome(Connection& connection, std::uint64_t epoch, const Admission& admission);

// Accepts a further connection of a session, or one of a peer, that has proved knowledge of `secret`. The answer
// proves the same.
void welcome(Connection& connection, std::uint64_t epoch, const Hello& hello, const Secret& secret,
             std::uint64_t features);
// A client that resumes a stream.
struct Return {
  std::size_t secret;  // index of the secret whose knowledge it has proved
  std::uint64_t received;
  Secret shown;  // sent in the Welcome in place of the secret
  Secret stripes_key;
};
// Lets the client prove before the deadline that it knows one of the secrets. If it fails, returns nothing
// and sends no answer. `features`: for the Welcome.
std::optional<Return> readmit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                              std::span<const Secret> secrets, std::uint64_t features, Deadline deadline);
void welcome_back(Connection& connection, std::uint64_t epoch, const Hello& hello, const Return& back,
                  std::uint64_t features, std::uint64_t received);
void refuse(Connection& connection, std::uint64_t epoch, WelcomeStatus status, std::string_view text);
// The text for a newcomer for whom this process lacks something.
std::string cannot_serve(std::string_view lack);
std::string version_mismatch_text(std::uint32_t client_version);

}  // namespace remotecl::server
