// A server with an access token, met by those who know it and those who do not.
#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

const AccessToken kToken("the right access token", "a test");
const AccessToken kOther("another access token", "a test");

class TokenHandshakeTest : public ServerTest {
 protected:
  Address guarded() const { return guarded_.address(); }
  std::unique_ptr<Connection> approach() { return tcp::connect(guarded(), 5s); }
  // What a client that knows `token` gets to hear; the transcript that its proof was for.
  std::optional<Welcome> prove_to(Connection& connection, const AccessToken& token, Transcript* said = nullptr) {
    Hello hello = hello_of(Role::kControl);
    hello.features = kFeatureToken;
    hello.secret = random_secret();
    const auto challenge = shake_hands(connection, hello);
    if (!challenge || challenge->status != WelcomeStatus::kProve) return std::nullopt;
    const Transcript transcript{Role::kControl, hello.features,   0, challenge->session, challenge->epoch,
                                hello.secret,   challenge->secret};
    if (said != nullptr) *said = transcript;
    return answer(connection, prove(token.key(), Claim::kConnecting, transcript));
  }
  std::optional<Welcome> answer(Connection& connection, const Proof& proof, std::string* text = nullptr) {
    connection.write(std::as_bytes(std::span(proof)));
    std::array<std::byte, kWelcomeSize> bytes;
    if (!connection.read_exactly(bytes)) return std::nullopt;
    const auto welcome = decode_frame<Welcome>(bytes);
    std::vector<std::byte> words(welcome.text_size);
    connection.read_exactly(words);
    if (text != nullptr) *text = as_text(words);
    return welcome;
  }
  static std::string refusal(const std::function<void()>& attempt) {
    try {
      attempt();
    } catch (const ConnectionError& error) {
      return error.what();
    }
    return "";
  }

  server::Server guarded_{Address{"127.0.0.1", 0}, "0", kToken};
};

TEST_F(TokenHandshakeTest, WhoKnowsTheTokenGetsASessionWhoseSecretDoesNotTravel) {
  const auto control = approach();
  Transcript transcript{};
  const auto shown = prove_to(*control, kToken, &transcript);
  ASSERT_TRUE(shown);
  ASSERT_EQ(shown->status, WelcomeStatus::kAccepted);
  EXPECT_TRUE(eventually([&] { return guarded_.sessions() == 1; }));
  Hello hello = hello_of(Role::kBulk);
  hello.session = shown->session;
  hello.secret = connecting_proof(shown->secret, hello);
  EXPECT_EQ(shake_hands(*approach(), hello)->status, WelcomeStatus::kUnknownSession)
      << "what was shown is not the secret";
  transcript.taken = shown->features;
  hello.secret = connecting_proof(prove_briefly(kToken.key(), Claim::kSessionSecret, transcript), hello);
  EXPECT_EQ(shake_hands(*approach(), hello)->status, WelcomeStatus::kAccepted);
}

TEST_F(TokenHandshakeTest, TheClientsOwnHandshakeSucceedsAndJoins) {
  const auto control = approach();
  const Welcome welcome = handshake_with_server(*control, guarded(), &kToken);
  const auto bulk = approach();
  const Invitation invitation{welcome.session, welcome.epoch, welcome.secret};
  EXPECT_EQ(handshake_for_session(*bulk, guarded(), Role::kBulk, invitation).status, WelcomeStatus::kAccepted);
}

TEST_F(TokenHandshakeTest, WrongTokenIsRefusedWithTheRemedy) {
  const std::string text = refusal([&] { handshake_with_server(*approach(), guarded(), &kOther); });
  EXPECT_NE(text.find("the token is not the server's"), std::string::npos) << text;
  EXPECT_EQ(guarded_.sessions(), 0u);
}

TEST_F(TokenHandshakeTest, NoTokenIsRefusedWithTheRemedy) {
  const std::string text = refusal([&] { handshake_with_server(*approach(), guarded(), nullptr); });
  EXPECT_NE(text.find("?token=FILE"), std::string::npos) << text;
  EXPECT_EQ(shake_hands(*approach(), hello_of(Role::kControl))->status, WelcomeStatus::kTokenNeeded);
  EXPECT_EQ(guarded_.sessions(), 0u);
}

TEST_F(TokenHandshakeTest, MonitorNeedsTheTokenToo) {
  EXPECT_EQ(shake_hands(*approach(), hello_of(Role::kMonitor))->status, WelcomeStatus::kTokenNeeded);
  const auto connection = approach();
  EXPECT_EQ(handshake_with_server(*connection, guarded(), &kToken, Role::kMonitor).status, WelcomeStatus::kAccepted);
}

TEST_F(TokenHandshakeTest, ProofOfAnotherHandshakeIsWorthNothing) {
  Transcript transcript{};
  const auto first = approach();
  ASSERT_EQ(prove_to(*first, kToken, &transcript)->status, WelcomeStatus::kAccepted);
  Hello hello = hello_of(Role::kControl);
  hello.features = kFeatureToken;
  hello.secret = transcript.client_nonce;
  const auto second = approach();
  ASSERT_EQ(shake_hands(*second, hello)->status, WelcomeStatus::kProve);
  EXPECT_EQ(answer(*second, prove(kToken.key(), Claim::kConnecting, transcript))->status, WelcomeStatus::kWrongToken);
}

TEST_F(TokenHandshakeTest, ServerThatDoesNotKnowTheTokenFoolsNobody) {
  EXPECT_NE(refusal([&] { handshake_with_server(*connect(), address(), &kToken); }).find("without knowing the token"),
            std::string::npos);
}

// Strangers who say part of what they should, or one byte now and then, have 5 s and little memory.
TEST_F(TokenHandshakeTest, StrangersHoldLittleAndNotForLong) {
  constexpr std::size_t kStrangers = 60;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kKibMax = 2048;  // what they add to each thread
#else
  constexpr std::size_t kKibMax = 64;
#endif
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t before = resident_kib();
  std::vector<std::unique_ptr<Connection>> strangers;
  for (std::size_t i = 0; i < kStrangers; ++i) {
    strangers.push_back(approach());
    Hello hello = hello_of(Role::kControl);
    hello.features = kFeatureToken;
    if (i % 2 == 0) {
      ASSERT_EQ(shake_hands(*strangers.back(), hello)->status, WelcomeStatus::kProve);
    } else {
      strangers.back()->write(Bytes(encode_frame<Hello, kHelloSize>(hello)).first(40));
    }
  }
  ASSERT_TRUE(eventually([&] { return guarded_.connections() == kStrangers; }));
  EXPECT_LT(resident_kib(), before + kStrangers * kKibMax);
  const auto friendly = approach();
  handshake_with_server(*friendly, guarded(), &kToken);
  const std::byte drop{0};
  while (guarded_.connections() > 1 && std::chrono::steady_clock::now() - begin < 20s) {
    for (const auto& stranger : strangers) stranger->try_write({&drop, 1});
    std::this_thread::sleep_for(1s);  // each of them stays shorter than a time-out of its own would be
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(kHandshakeTimeoutMs) - 100ms);
  EXPECT_LT(took, std::chrono::milliseconds(kHandshakeTimeoutMs) + 3s);
}

}  // namespace
}  // namespace remotecl::testing
