#include "server/admission/handshake.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// Answers fit into any socket buffer, so sending one never blocks. If one is cut short nevertheless, the connection
// ends, because the peer would take later bytes for the rest.
void send_whole(Connection& connection, Bytes bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t count = connection.try_write(bytes);
    if (count <= 0) return connection.shutdown();
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void answer(Connection& connection, Welcome welcome, std::string_view text = {}) {
  welcome.magic = kMagic;
  welcome.version = kProtocolVersion;
  text = text.substr(0, kWelcomeTextMax);
  welcome.text_size = static_cast<std::uint32_t>(text.size());
  std::array<std::byte, kWelcomeSize + kWelcomeTextMax> bytes;  // where there is no memory, that is said, too
  const auto frame = encode_frame<Welcome, kWelcomeSize>(welcome);
  std::ranges::copy(frame, bytes.begin());
  std::ranges::copy(as_bytes(text), bytes.begin() + kWelcomeSize);
  send_whole(connection, Bytes(bytes).first(kWelcomeSize + text.size()));
}

// Answers a peer that expects TLS. Then reads its bytes, because closing a connection with unread data discards the
// answer.
void refuse_tls(Connection& connection, std::uint64_t epoch) {
  refuse(
      connection, epoch, WelcomeStatus::kNoTls,
      "it was started without --tls. Start it with a certificate; or take pin= and ca= out of its name, if others may "
      "read and change what travels");
  std::array<std::byte, 2048> ignored;
  for (int i = 0; i < 16 && connection.try_read_some(ignored) > 0;) ++i;
}

}  // namespace

std::optional<Hello> read_hello(Connection& connection, std::uint64_t epoch, Deadline deadline) {
  std::array<std::byte, kHelloSize> bytes;
  for (std::size_t have = 0; have < bytes.size();) {
    const std::size_t count = read_some_before(connection, MutableBytes(bytes).subspan(have), deadline);
    if (count == 0) return std::nullopt;
    have += count;
    // Checks the first bytes as they come, so that a peer with another protocol is recognised even if it
    // sends very few.
    const std::size_t checked = std::min(have, kMagic.size());
    if (std::memcmp(bytes.data(), kMagic.data(), checked) == 0) continue;
    if (bytes[0] == std::byte{TlsConnection::kFirstByte}) refuse_tls(connection, epoch);
    return std::nullopt;
  }
  connection.set_read_timeout(std::chrono::milliseconds(0));
  return decode_frame<Hello>(bytes);
}

bool secure(TlsConnection& connection, std::uint64_t epoch, Deadline deadline) {
  const auto result = connection.handshake(deadline);
  if (result == TlsConnection::Handshake::kNoTls) {
    StreamConnection& stream = connection.stream();
    const auto hello = read_hello(stream, epoch, deadline);
    if (hello && hello->version != kProtocolVersion) {
      refuse(stream, epoch, WelcomeStatus::kVersionMismatch, version_mismatch_text(hello->version));
    } else if (hello) {
      refuse(stream, epoch, WelcomeStatus::kTlsNeeded,
             "it speaks TLS only, and its name here asks for none; get the pin of its key from whoever runs the "
             "server, and put ?pin=sha256:... behind the server's address");
    }
  } else if (result == TlsConnection::Handshake::kFailed) {
    log_info("no TLS with {}: it {}", tcp::peer_address(connection).text(), connection.failure());
  }
  return result == TlsConnection::Handshake::kDone;
}

bool has_certificate(Connection& connection, std::uint64_t epoch) {
  const PeerCertificate* const shown = connection.peer_certificate();
  if (shown != nullptr && shown->objection.empty()) return true;
  refuse(connection, epoch, WelcomeStatus::kCertificateNeeded,
         (shown == nullptr ? "it asks for a client's certificate, and none is named for it here"
                           : "the client's certificate is not accepted (" + shown->objection + ")") +
             "; get one from whoever runs the server, and put &certificate=FILE&key=FILE behind the server's name");
  return false;
}

std::optional<Admission> admit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                               std::span<const AccessToken> tokens, Deadline deadline, RejectionCounts& refusals) {
  std::uint64_t session = 0;
  fill_random(std::as_writable_bytes(std::span(&session, 1)));
  constexpr std::uint64_t kPossible = kFeatureResumable | kFeatureExclusive;
  const std::uint64_t taken = hello.role == Role::kControl ? hello.features & kPossible : 0;
  if (tokens.empty()) {
    const Secret secret = random_secret();
    return Admission{session, secret, secret, taken};
  }
  if ((hello.features & kFeatureToken) == 0) {
    refusals.count(Refusal::kTokenNeeded);
    refuse(connection, epoch, WelcomeStatus::kTokenNeeded,
           "it asks for a token, and none is named for it here; get the token file from whoever runs the server, and "
           "put ?token=FILE behind the server's address");
    return std::nullopt;
  }
  Transcript transcript{hello.role, hello.features, 0, session, epoch, hello.secret, random_secret()};
  Welcome challenge{};
  challenge.status = WelcomeStatus::kProve;
  challenge.features = kFeatureToken;
  challenge.session = session;
  challenge.secret = transcript.server_nonce;
  challenge.epoch = epoch;
  answer(connection, challenge);
  Proof proof;
  if (!read_before(connection, std::as_writable_bytes(std::span(proof)), deadline)) return std::nullopt;
  const AccessToken* token = nullptr;
  // Tries all tokens, so that the timing does not reveal which one matches.
  for (const AccessToken& each : tokens) {
    const Proof right = prove(each.key(), Claim::kConnecting, transcript);
    if (same_bytes(std::as_bytes(std::span(proof)), std::as_bytes(std::span(right)))) token = &each;
  }
  if (token == nullptr) {
    refusals.count(Refusal::kWrongToken);
    refuse(connection, epoch, WelcomeStatus::kWrongToken,
           "the token is not the server's; get its token file from whoever runs the server");
    return std::nullopt;
  }
  transcript.taken = taken | kFeatureToken;
  return Admission{session, prove_briefly(token->key(), Claim::kSessionSecret, transcript),
                   prove_briefly(token->key(), Claim::kAccepting, transcript), transcript.taken,
                   static_cast<std::size_t>(token - tokens.data())};
}

std::optional<Return> readmit(Connection& connection, const Hello& hello, std::uint64_t epoch,
                              std::span<const Secret> secrets, std::uint64_t features, Deadline deadline) {
  Transcript transcript{hello.role, hello.features, 0, hello.session, epoch, hello.secret, random_secret()};
  Welcome challenge{};
  challenge.status = WelcomeStatus::kProve;
  challenge.features = hello.features;
  challenge.session = hello.session;
  challenge.secret = transcript.server_nonce;
  challenge.epoch = epoch;
  answer(connection, challenge);
  Proof proof;
  std::array<std::byte, kResumeAtSize> bytes;
  if (!read_before(connection, std::as_writable_bytes(std::span(proof)), deadline)) return std::nullopt;
  if (!read_before(connection, bytes, deadline)) return std::nullopt;
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const Bytes key = std::as_bytes(std::span(secrets[i]));
    const Proof right = prove(key, Claim::kConnecting, transcript);
    if (!same_bytes(std::as_bytes(std::span(proof)), std::as_bytes(std::span(right)))) continue;
    transcript.taken = features;
    return Return{i, decode_frame<ResumeAt>(bytes).received, prove_briefly(key, Claim::kAccepting, transcript),
                  prove_briefly(key, Claim::kStripes, transcript)};
  }
  return std::nullopt;
}

void welcome_back(Connection& connection, std::uint64_t epoch, const Hello& hello, const Return& back,
                  std::uint64_t features, std::uint64_t received) {
  answer(connection, {{}, 0, WelcomeStatus::kAccepted, features, hello.session, back.shown, epoch, 0, 0});
  send_whole(connection, Bytes(encode_frame<ResumeAt, kResumeAtSize>(ResumeAt{received})));
}

void welcome(Connection& connection, std::uint64_t epoch, const Admission& admission) {
  answer(connection,
         {{}, 0, WelcomeStatus::kAccepted, admission.features, admission.session, admission.shown, epoch, 0, 0});
}

void welcome(Connection& connection, std::uint64_t epoch, const Hello& hello, const Secret& secret,
             std::uint64_t features) {
  Welcome words{{}, 0, WelcomeStatus::kAccepted, features, hello.session, {}, epoch, 0, 0};
  words.secret = accepting_proof(secret, hello, words);
  answer(connection, words);
}

void refuse(Connection& connection, std::uint64_t epoch, WelcomeStatus status, std::string_view text) {
  answer(connection, {{}, 0, status, 0, 0, {}, epoch, 0, 0}, text);
}

std::string cannot_serve(std::string_view lack) {
  return "this server can serve nobody else now: " + std::string(lack) +
         "; try again when others have left, or ask whoever runs it to raise its limits";
}

std::string version_mismatch_text(std::uint32_t client_version) {
  return "the client speaks protocol version " + std::to_string(client_version) + ", this server (remotecl " +
         REMOTECL_VERSION + ") version " + std::to_string(kProtocolVersion) +
         "; install the same remotecl release on both machines";
}

}  // namespace remotecl::server
