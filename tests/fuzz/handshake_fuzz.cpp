// The first words on every kind of connection, on both sides: of a daemon with a token to whoever connects, and of a
// client or a peer to whoever answers. What a stranger must not get is a finding.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/printable.h"
#include "runtime/crypto/secret.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/proof.h"
#include "server/admission/handshake.h"
#include "server/wire/stripe_table.h"
#include "support/memory_connection.h"

using namespace remotecl;

namespace {

// What an input begins with.
struct Head {
  std::uint8_t side;    // whose words the input has
  std::uint8_t proves;  // 1: the proof is right but for `wrong`
  std::uint8_t wrong;   // xor of its first byte
  std::uint8_t has_token;
  std::uint64_t epoch;
};
enum Side : std::uint8_t { kStranger, kServerOfClient, kServerOfSession, kSides };

const AccessToken& token() {
  static const AccessToken token("a token of many characters", "a fuzzer");
  return token;
}
constexpr Secret kSecret{1, 2, 3};

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The other end, which hears what is said to it.
struct OtherSide {
  std::vector<std::byte> heard;
  std::shared_ptr<fuzz::Pipe> pipe;
  fuzz::MemoryConnection connection;
  std::function<void()> hears = [] {};

  OtherSide()
      : pipe(std::make_shared<fuzz::Pipe>([this](Bytes bytes) {
          heard.insert(heard.end(), bytes.begin(), bytes.end());
          hears();
        })),
        connection(pipe) {}
};

// A stranger's words to a daemon with a token, whose challenge it may have an answer to.
void knock_at_daemon(const Head& head, Bytes words) {
  OtherSide stranger;
  const Bytes hello_words = words.first(std::min(words.size(), kHelloSize));
  words = words.subspan(hello_words.size());
  stranger.pipe->feed(hello_words);
  const Deadline deadline = handshake_deadline();
  bool is_proved = false, has_answered = false;
  stranger.hears = [&] {
    if (std::exchange(has_answered, true)) return;
    if (head.proves == 1 && stranger.heard.size() >= kWelcomeSize && hello_words.size() == kHelloSize) {
      const auto hello = decode_frame<Hello>(hello_words);
      const auto challenge = decode_frame<Welcome>(Bytes(stranger.heard).first(kWelcomeSize));
      Proof proof =
          prove(token().key(), Claim::kConnecting,
                {hello.role, hello.features, 0, challenge.session, challenge.epoch, hello.secret, challenge.secret});
      proof[0] ^= head.wrong;
      is_proved = head.wrong == 0 && challenge.status == WelcomeStatus::kProve;
      stranger.pipe->feed(std::as_bytes(std::span(proof)));
    }
    stranger.pipe->feed(words);
    stranger.pipe->end();
  };
  if (hello_words.size() < kHelloSize) stranger.pipe->end();
  const auto hello = server::read_hello(stranger.connection, head.epoch, deadline);
  if (!hello) return;
  if (hello->magic != kMagic) complain("a Hello without the magic was taken");
  const auto tokens = std::span(&token(), head.has_token != 0 ? 1 : 0);
  server::RejectionCounts refusals;
  const auto admission = server::admit(stranger.connection, *hello, head.epoch, tokens, deadline, refusals);
  if (head.has_token != 0 && admission && !is_proved) complain("somebody who does not know the token was let in");
  if (admission) server::welcome(stranger.connection, head.epoch, *admission);
  // Sessions and links: nobody knows their secret by chance.
  if (same_secret(connecting_proof(kSecret, *hello), hello->secret)) complain("a secret was proved by chance");
  server::StripeTable stripes;
  const server::StripeGroup group(stripes, kStripesMax, kSecret);
  if (stripes.add(*hello, nullptr)) complain("a stranger's connection was made a part of somebody's stream");
  server::welcome(stranger.connection, head.epoch, *hello, kSecret, hello->features);
  server::refuse(stranger.connection, head.epoch, WelcomeStatus::kVersionMismatch,
                 server::version_mismatch_text(hello->version));
}

// Who answers a client, or a server that connects to another one. The words are the input's, but for the proofs that
// an honest server has, in as far as the head says so.
class Answerer {
 public:
  Answerer(const Head& head, Bytes words) : head_(head), words_(words) {
    side_.hears = [this] { hears(); };
  }

  void serve() {
    const Address address{"fuzzer", 1};
    try {
      if (head_.side == kServerOfSession) {
        handshake_for_session(side_.connection, address, Role::kBulk, {1, head_.epoch, kSecret}, 0);
        if (!is_proved_) complain("a server that does not know the secret was taken");
      } else {
        handshake_with_server(side_.connection, address, head_.has_token != 0 ? &token() : nullptr);
        if (head_.has_token != 0 && !is_proved_) complain("a server that does not know the token was taken");
      }
    } catch (const ConnectionError& error) {
      if (printable(error.what()) != error.what()) complain("what a server says could control a terminal");
    }
  }

 private:
  // The Hello, and then perhaps a proof.
  void hears() {
    if (side_.heard.size() < kHelloSize) return;
    hello_ = decode_frame<Hello>(Bytes(side_.heard).first(kHelloSize));
    std::vector<std::byte> bytes(words_.begin(), words_.end());
    if (bytes.size() < kWelcomeSize) return end(bytes);
    auto welcome = decode_frame<Welcome>(Bytes(bytes).first(kWelcomeSize));
    const bool is_challenge = !has_challenged_ && welcome.status == WelcomeStatus::kProve;
    if (is_challenge) {
      has_challenged_ = true;
      challenge_ = welcome;
      bytes.resize(std::min(bytes.size(), kWelcomeSize + std::min(welcome.text_size, kWelcomeTextMax)));
    } else if (head_.proves == 1) {
      prove_it(welcome);
      const auto fixed = encode_frame<Welcome, kWelcomeSize>(welcome);
      std::copy(fixed.begin(), fixed.end(), bytes.begin());
    }
    words_ = words_.subspan(bytes.size());
    if (!is_challenge || words_.empty()) return end(bytes);
    side_.pipe->feed(bytes);
  }
  void prove_it(Welcome& welcome) {
    if (head_.side == kServerOfSession) {
      welcome.secret = accepting_proof(kSecret, hello_, welcome);
    } else {
      welcome.secret = prove_briefly(token().key(), Claim::kAccepting,
                                     {hello_.role, hello_.features, welcome.features, welcome.session, welcome.epoch,
                                      hello_.secret, challenge_.secret});
    }
    welcome.secret[0] ^= head_.wrong;
    is_proved_ = head_.wrong == 0;
  }
  void end(Bytes bytes) {
    side_.pipe->feed(bytes);
    side_.pipe->end();
  }

  const Head head_;
  Bytes words_;
  OtherSide side_;
  Hello hello_{};
  Welcome challenge_{};
  bool has_challenged_ = false, is_proved_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input = std::as_bytes(std::span(data, size));
  Head head{};
  if (input.size() < sizeof head) return 0;
  std::memcpy(&head, input.data(), sizeof head);
  head.side %= kSides;
  const Bytes words = input.subspan(sizeof head);
  if (head.side == kStranger) {
    knock_at_daemon(head, words);
  } else {
    Answerer(head, words).serve();
  }
  return 0;
}
