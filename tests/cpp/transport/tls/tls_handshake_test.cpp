// Who is believed, and who is told why not.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "runtime/transport/tls/certificate.h"
#include "transport/tls/tls_pair.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;
using Handshake = TlsConnection::Handshake;
using testing::Authority;
using testing::CertificateFiles;

class TlsHandshakeTest : public ::testing::Test {
 protected:
  static TlsServer server(const CertificateFiles& files, const std::string& client_ca = {}) {
    return TlsServer({files.certificate, files.key, client_ca});
  }
  // What a client says that trusts the authority, and has named the server so; empty: it is content.
  std::string objection(const CertificateFiles& files, const std::string& host) {
    const TlsPair pair = shake_hands(TlsClient({{}, authority_.file(), {}, {}}), server(files), host);
    EXPECT_EQ(pair.near_end == Handshake::kDone, pair.far_end == Handshake::kDone);
    return pair.near->failure();
  }
  static std::string refusal(const std::function<void()>& attempt) {
    try {
      attempt();
    } catch (const ConnectionError& error) {
      return error.what();
    }
    return "";
  }

  testing::PrivateFolder folder_;
  Authority authority_{folder_};
  CertificateFiles own_ = testing::own_certificate(folder_, "own");
};

TEST_F(TlsHandshakeTest, PinnedKeyIsEnough) {
  const auto ended = authority_.sign("ended", "DNS:elsewhere", -60);
  const TlsPair pair = shake_hands(TlsClient({ended.pin, {}, {}, {}}), server(ended));
  EXPECT_EQ(pair.near_end, Handshake::kDone) << pair.near->failure();
  EXPECT_EQ(pair.near->peer_certificate()->key, ended.pin);
}

TEST_F(TlsHandshakeTest, AnotherKeyThanThePinnedOneIsShownBesideIt) {
  const auto other = testing::own_certificate(folder_, "other");
  const TlsPair pair = shake_hands(TlsClient({other.pin, {}, {}, {}}), server(own_));
  EXPECT_EQ(pair.near_end, Handshake::kFailed);
  EXPECT_EQ(pair.far_end, Handshake::kFailed) << "the server hears of it";
  const std::string& text = pair.near->failure();
  EXPECT_NE(text.find(pin_text(own_.pin) + ", and pin= says " + pin_text(other.pin)), std::string::npos) << text;
  EXPECT_NE(text.find("somebody in between"), std::string::npos) << text;
  std::byte byte{};
  EXPECT_FALSE(pair.near->write(Bytes(&byte, 1))) << "nothing is said to a stranger";
  EXPECT_EQ(pair.near->read_some({&byte, 1}), 0u);
}

TEST_F(TlsHandshakeTest, SignedCertificateHasToBeForTheNameAndInTime) {
  EXPECT_EQ(objection(authority_.sign("gpu1", "DNS:gpu1,IP:127.0.0.1"), "gpu1"), "");
  EXPECT_EQ(objection(authority_.sign("gpu1", "DNS:gpu1,IP:127.0.0.1"), "127.0.0.1"), "");
  EXPECT_NE(objection(authority_.sign("gpu2", "DNS:gpu2"), "gpu1").find("hostname mismatch"), std::string::npos);
  EXPECT_NE(objection(authority_.sign("gpu2", "DNS:gpu2"), "127.0.0.1").find("IP address mismatch"), std::string::npos);
  const std::string ended = objection(authority_.sign("gpu1", "DNS:gpu1", -60), "gpu1");
  EXPECT_NE(ended.find("certificate has expired); the server needs a new one"), std::string::npos) << ended;
  const std::string unknown = objection(own_, "localhost");
  EXPECT_NE(unknown.find("the file named with ca="), std::string::npos) << unknown;
}

TEST_F(TlsHandshakeTest, CertificateMayBeItsOwnAuthority) {
  const TlsPair pair = shake_hands(TlsClient({{}, own_.certificate, {}, {}}), server(own_), "localhost");
  EXPECT_EQ(pair.near_end, Handshake::kDone) << pair.near->failure();
}

TEST_F(TlsHandshakeTest, PinAndAuthorityAreBothAskedFor) {
  const auto signed_one = authority_.sign("gpu1", "DNS:gpu1");
  const auto attempt = [&](const KeyPin& pin, const std::string& host) {
    return shake_hands(TlsClient({pin, authority_.file(), {}, {}}), server(signed_one), host).near_end;
  };
  EXPECT_EQ(attempt(signed_one.pin, "gpu1"), Handshake::kDone);
  EXPECT_EQ(attempt(signed_one.pin, "gpu2"), Handshake::kFailed);
  EXPECT_EQ(attempt(own_.pin, "gpu1"), Handshake::kFailed);
}

// What the server knows of clients; the handshake refuses those that it objects to.
TEST_F(TlsHandshakeTest, ClientsCertificateIsJudgedButTheWelcomeSpeaks) {
  const TlsServer asking = server(own_, authority_.file());
  const auto objection_to = [&](const CertificateFiles& files) {
    const TlsPair pair = shake_hands(TlsClient({own_.pin, {}, files.certificate, files.key}), asking);
    EXPECT_EQ(pair.far_end, Handshake::kDone) << pair.far->failure();
    const PeerCertificate* const shown = pair.far->peer_certificate();
    return shown == nullptr ? "none" : shown->objection;
  };
  const auto friendly = authority_.sign("friend", "DNS:laptop");
  EXPECT_EQ(objection_to(friendly), "");
  EXPECT_EQ(objection_to(authority_.sign("former", "DNS:laptop", -60)), "certificate has expired");
  EXPECT_NE(objection_to(testing::own_certificate(folder_, "stranger")), "");
  EXPECT_EQ(objection_to({}), "none");
  const TlsPair pair = shake_hands(TlsClient({own_.pin, {}, friendly.certificate, friendly.key}), server(own_));
  EXPECT_EQ(pair.far->peer_certificate(), nullptr) << "shown only where it is asked for";
}

TEST_F(TlsHandshakeTest, PlainClientIsRecognisedAndNothingOfItTaken) {
  auto [near, far] = make_tcp_pair();
  const auto server_end = server(own_).wrap(std::move(far));
  near->write(as_bytes("remotecl"));
  EXPECT_EQ(server_end->handshake(soon()), Handshake::kNoTls);
  std::byte got[8];
  ASSERT_TRUE(server_end->stream().read_exactly(got));
  EXPECT_EQ(as_text(got), "remotecl");
}

TEST_F(TlsHandshakeTest, PlainServerIsRecognisedAndNothingOfItTaken) {
  auto [near, far] = make_tcp_pair();
  const auto client_end = TlsClient({own_.pin, {}, {}, {}}).wrap(std::move(near), {"127.0.0.1", 0});
  far->write(as_bytes("remotecl"));
  EXPECT_EQ(client_end->handshake(soon()), Handshake::kNoTls);
  EXPECT_FALSE(client_end->write(as_bytes("a"))) << "never in plain text";
  std::byte got[8];
  ASSERT_TRUE(client_end->stream().read_exactly(got));
  EXPECT_EQ(as_text(got), "remotecl");
}

TEST_F(TlsHandshakeTest, EndOrSilenceInTheMiddleIsToldInTime) {
  const std::byte part_of_a_record[] = {std::byte{0x16}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}};
  for (const std::size_t said : {0u, 1u, 5u}) {
    auto [near, far] = make_tcp_pair();
    const auto server_end = server(own_).wrap(std::move(far));
    if (said > 0) near->write(Bytes(part_of_a_record).first(said));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(server_end->handshake(begin + 50ms), Handshake::kFailed);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    EXPECT_NE(server_end->failure().find(said == 0 ? "said nothing" : "fell silent"), std::string::npos);
    auto [other_near, other_far] = make_tcp_pair();
    const auto other_end = server(own_).wrap(std::move(other_far));
    if (said > 0) other_near->write(Bytes(part_of_a_record).first(said));
    other_near.reset();
    EXPECT_EQ(other_end->handshake(soon()), Handshake::kFailed);
  }
}

// OpenSSL would reserve as much as is announced.
TEST_F(TlsHandshakeTest, ClientHelloThatAnnouncesMuchIsRefusedAtOnce) {
  const std::vector<std::uint8_t> large_message = {0x16, 3, 1, 0, 8, 1, 1, 0xff, 0, 3, 3, 0, 0};
  const std::vector<std::uint8_t> large_record = {0x16, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xf0};
  for (const auto& words : {large_message, large_record}) {
    auto [near, far] = make_tcp_pair();
    const auto server_end = server(own_).wrap(std::move(far));
    near->write(std::as_bytes(std::span(words)));
    EXPECT_EQ(server_end->handshake(soon()), Handshake::kFailed);
    EXPECT_NE(server_end->failure().find("none of ours"), std::string::npos) << server_end->failure();
  }
}

TEST_F(TlsHandshakeTest, FilesThatCannotBeUsedAreNamedWithTheCause) {
  const auto other = testing::own_certificate(folder_, "other");
  const std::string empty = folder_.write("empty.pem", "");
  const auto of_server = [](const std::string& certificate, const std::string& key, const std::string& ca = {}) {
    return refusal([&] { TlsServer({certificate, key, ca}); });
  };
  EXPECT_NE(of_server(own_.certificate, other.key).find("is not the key of"), std::string::npos);
  EXPECT_NE(of_server(empty, own_.key).find("empty.pem: it holds none in PEM"), std::string::npos);
  EXPECT_NE(of_server(own_.certificate, empty).find("private key " + empty), std::string::npos);
  EXPECT_NE(of_server(own_.certificate, folder_.path("none")).find("No such file"), std::string::npos);
  EXPECT_NE(of_server(own_.certificate, own_.key, empty).find("file of certificates"), std::string::npos);
  ::chmod(own_.key.c_str(), 0640);
  EXPECT_NE(of_server(own_.certificate, own_.key).find("chmod 600 " + own_.key), std::string::npos);
  EXPECT_NE(refusal([&] { TlsClient({{}, empty, {}, {}}); }).find(empty), std::string::npos);
}

TEST(KeyPins, AreWrittenAsTheyAreRead) {
  KeyPin pin{};
  for (std::size_t i = 0; i < pin.size(); ++i) pin[i] = static_cast<std::uint8_t>(8 * i);
  const std::string text = pin_text(pin);
  EXPECT_EQ(text.substr(0, 15), "sha256:00081018");
  EXPECT_EQ(parse_pin(text), pin);
  std::string large = text;
  for (char& letter : large) letter = letter >= 'a' && letter <= 'f' ? static_cast<char>(letter - 32) : letter;
  EXPECT_EQ(parse_pin("sha256:" + large.substr(7)), pin);
  for (const std::string& wrong : {text + "0", text.substr(1), text.substr(0, 70), "sha256:" + std::string(64, 'g'),
                                   "sha256:-1" + std::string(62, '0'), std::string()}) {
    EXPECT_EQ(parse_pin(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace remotecl
