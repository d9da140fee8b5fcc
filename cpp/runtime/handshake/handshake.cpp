#include "runtime/handshake/handshake.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/printable.h"
#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/transport/compression/compression_mode.h"
#include "runtime/transport/passing_failure.h"
#include "runtime/transport/shm/shared_memory.h"

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

Bytes key_of(const Secret& secret) { return std::as_bytes(std::span(secret)); }

// A pending answer.
struct Awaited {
  Deadline deadline;
  bool is_server;  // the peer has shown that it is a server
  Clock::time_point since = Clock::now();
};

// The other side has ended the connection, or it broke.
class BrokenHandshake : public NoServer, public PassingFailure {
 public:
  BrokenHandshake(const std::string& text, bool is_of_server) : NoServer(text), PassingFailure{is_of_server} {}
};

// Explains why no answer came.
std::string silence(const Address& address, const Awaited& awaited) {
  const bool is_late = Clock::now() >= awaited.deadline;
  const auto seconds = std::chrono::round<std::chrono::seconds>(Clock::now() - awaited.since).count();
  const std::string time = std::to_string(seconds) + " s";
  if (awaited.is_server && is_late) {
    return address.text() + " has not gone on with the handshake for " + time +
           "; it is stopped, or very busy: look after its machine, and try again";
  }
  if (awaited.is_server) {
    return address.text() + " ended the connection in the midst of the handshake; its log (--log-level info) says why";
  }
  if (is_late) {
    return address.text() + " takes connections, and has said nothing for " + time +
           "; is it a remotecl-server that is stopped, or very busy, or is another program on that port? If it is a "
           "tunnel: is the server still at its other end?";
  }
  return address.text() +
         " ended the connection in the place of answering as a remotecl-server; is another program on that port? If it "
         "is a tunnel: is the server still at its other end, and does the SSH server allow forwarding?";
}

// Sends the connecting side's next bytes and reads the answer, which accepts them or asks for a proof.
Welcome exchange(Connection& connection, const Address& address, Bytes words, const Awaited& awaited) {
  std::array<std::byte, kWelcomeSize> answer;
  const bool said = connection.write(words);
  prepare_proofs();  // uses the time until the answer
  if (!said || !read_before(connection, answer, awaited.deadline)) {
    const std::string why = silence(address, awaited);
    if (Clock::now() < awaited.deadline) throw BrokenHandshake(why, awaited.is_server);
    throw NoServer(why);
  }
  const auto welcome = decode_frame<Welcome>(answer);
  if (welcome.magic != kMagic) throw NoServer(address.text() + " is not a remotecl-server; check the port");
  const std::string text = read_text(connection, welcome, awaited.deadline);
  if (welcome.status == WelcomeStatus::kVersionMismatch || welcome.version != kProtocolVersion) {
    throw ConnectionError(address.text() + " speaks version " + std::to_string(welcome.version) +
                          " of the protocol and this side version " + std::to_string(kProtocolVersion) +
                          "; install the same remotecl release on both machines");
  }
  if (welcome.status == WelcomeStatus::kUnknownSession) throw StreamGone(address.text() + " refused: " + text);
  if (welcome.status != WelcomeStatus::kAccepted && welcome.status != WelcomeStatus::kProve) {
    throw ConnectionError(address.text() + " refused the connection: " + text);
  }
  return welcome;
}

ConnectionError impostor(const Address& address) {
  return ConnectionError(address.text() +
                         " accepts the connection without knowing the token: it was started without its token file, or "
                         "it is another server than you mean. Name no token for it only if you trust it anyway");
}

// Completes a handshake with a token after the server's challenge.
Welcome prove_token(Connection& connection, const Address& address, const AccessToken& token, const Hello& hello,
                    const Welcome& challenge, Deadline deadline) {
  Transcript transcript{hello.role,   hello.features,  0, challenge.session, challenge.epoch,
                        hello.secret, challenge.secret};
  const Proof proof = prove(token.key(), Claim::kConnecting, transcript);
  Welcome welcome = exchange(connection, address, std::as_bytes(std::span(proof)), {deadline, true});
  transcript.taken = welcome.features;
  const bool knows_token = welcome.status == WelcomeStatus::kAccepted && welcome.session == challenge.session &&
                           welcome.epoch == challenge.epoch &&
                           same_secret(welcome.secret, prove_briefly(token.key(), Claim::kAccepting, transcript));
  if (!knows_token) throw impostor(address);
  welcome.secret = prove_briefly(token.key(), Claim::kSessionSecret, transcript);
  return welcome;
}

// Joins an existing session or link.
Welcome join(Connection& connection, const Address& address, Role role, const Invitation& invitation,
             std::uint64_t features, const Awaited& awaited) {
  Hello hello{kMagic, kProtocolVersion, role, features, invitation.session, {}};
  hello.secret = connecting_proof(invitation.secret, hello);
  const Welcome welcome = exchange(connection, address, Bytes(encode_frame<Hello, kHelloSize>(hello)), awaited);
  if (welcome.epoch != invitation.epoch) {
    throw ConnectionError(address.text() + " is another server than the one that was meant");
  }
  if (welcome.status != WelcomeStatus::kAccepted ||
      !same_secret(welcome.secret, accepting_proof(invitation.secret, hello, welcome))) {
    throw ConnectionError(address.text() + " does not know the secret of the session that it accepts a connection of");
  }
  return welcome;
}

}  // namespace

Patience Patience::of(std::chrono::milliseconds window) {
  constexpr std::chrono::milliseconds kFirstWord{kFirstWordTimeoutMs};
  const auto now = Clock::now();
  return {now + kFirstWord, now + std::max(window, kFirstWord)};
}

std::string read_text(Connection& connection, const Welcome& welcome, Deadline deadline) {
  std::string text(std::min(welcome.text_size, kWelcomeTextMax), '\0');
  read_before(connection, std::as_writable_bytes(std::span(text.data(), text.size())), deadline);
  return printable(text);
}

std::size_t read_some_before(Connection& connection, MutableBytes to, Deadline deadline) {
  const auto now = Clock::now();
  if (now >= deadline) return static_cast<std::size_t>(std::max<std::ptrdiff_t>(connection.try_read_some(to), 0));
  connection.set_read_timeout(std::chrono::ceil<std::chrono::milliseconds>(deadline - now));
  return connection.read_some(to);
}

bool read_before(Connection& connection, MutableBytes to, Deadline deadline) {
  while (!to.empty()) {
    const std::size_t count = read_some_before(connection, to, deadline);
    if (count == 0) return false;
    to = to.subspan(count);
  }
  connection.set_read_timeout(std::chrono::milliseconds(0));
  return true;
}

Welcome handshake_with_server(Connection& connection, const Address& address, const AccessToken* token, Role role,
                              std::uint64_t features, Patience patience) {
  if (token != nullptr) features |= kFeatureToken;
  const Hello hello{kMagic, kProtocolVersion, role, features, 0, random_secret()};
  const Welcome welcome =
      exchange(connection, address, Bytes(encode_frame<Hello, kHelloSize>(hello)), {patience.first_word, false});
  const bool is_challenge = welcome.status == WelcomeStatus::kProve;
  if (token == nullptr) {
    if (is_challenge) throw ConnectionError(address.text() + " asks for a proof that was not offered; see its log");
    return welcome;
  }
  if (!is_challenge) throw impostor(address);
  return prove_token(connection, address, *token, hello, welcome, patience.server);
}

Welcome handshake_for_session(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features, Deadline deadline) {
  return join(connection, address, role, invitation, features, {deadline, true});
}

Welcome handshake_as_stranger(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features, Deadline deadline) {
  return join(connection, address, role, invitation, features, {deadline, false});
}

Secret stripes_key(const Invitation& invitation, Role role, std::uint64_t offered, std::uint64_t taken) {
  return prove_briefly(key_of(invitation.secret), Claim::kStripes,
                       {role, offered, taken, invitation.session, invitation.epoch, {}, {}});
}

Secret rdma_key(const Invitation& invitation, Role role, std::uint64_t offered, std::uint64_t taken) {
  return prove_briefly(key_of(invitation.secret), Claim::kRdma,
                       {role, offered, taken, invitation.session, invitation.epoch, {}, {}});
}

Resumption handshake_again(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                           std::uint64_t received, std::uint64_t features, Deadline deadline) {
  const Awaited awaited{deadline, true};
  features |= kFeatureResume;
  const Hello hello{kMagic, kProtocolVersion, role, features, invitation.session, random_secret()};
  const Welcome challenge = exchange(connection, address, Bytes(encode_frame<Hello, kHelloSize>(hello)), awaited);
  if (challenge.epoch != invitation.epoch) {
    throw StreamGone("the server at " + address.text() + " is not the one that was connected: it was restarted");
  }
  if (challenge.status != WelcomeStatus::kProve)
    throw ConnectionError(address.text() + " did not answer as a remotecl-server");
  Transcript transcript{role, features, 0, invitation.session, invitation.epoch, hello.secret, challenge.secret};
  ByteBuffer words;
  const Proof proof = prove(key_of(invitation.secret), Claim::kConnecting, transcript);
  words.append(std::as_bytes(std::span(proof)));
  words.append(encode_frame<ResumeAt, kResumeAtSize>(ResumeAt{received}));
  const Welcome welcome = exchange(connection, address, words.bytes(), awaited);
  transcript.taken = welcome.features;
  if (welcome.status != WelcomeStatus::kAccepted ||
      !same_secret(welcome.secret, prove_briefly(key_of(invitation.secret), Claim::kAccepting, transcript))) {
    throw ConnectionError(address.text() + " does not know the secret of the session that it wants to go on with");
  }
  std::array<std::byte, kResumeAtSize> answer;
  if (!read_before(connection, answer, deadline)) throw ConnectionError(silence(address, awaited));
  return {decode_frame<ResumeAt>(answer).received, stripes_of(welcome.features),
          prove_briefly(key_of(invitation.secret), Claim::kStripes, transcript)};
}

Secret connecting_proof(const Secret& secret, const Hello& hello) {
  return prove_briefly(key_of(secret), Claim::kConnecting, {hello.role, hello.features, 0, hello.session, 0, {}, {}});
}

Secret accepting_proof(const Secret& secret, const Hello& hello, const Welcome& welcome) {
  return prove_briefly(key_of(secret), Claim::kAccepting,
                       {hello.role, hello.features, welcome.features, hello.session, welcome.epoch, {}, {}});
}

std::uint64_t bulk_features() {
  const bool shares = shared_memory::wanted() && rdma_use() != RdmaUse::kRequire;
  const bool compresses = compression_mode() != CompressionMode::kOff;
  return (shares ? kFeatureSharedMemory : 0) | (compresses ? kFeatureCompression : 0);
}

ConnectionError silent_server(const Address& address, Deadline deadline, Deadline since) {
  return ConnectionError(silence(address, {deadline, true, since}));
}

}  // namespace remotecl
