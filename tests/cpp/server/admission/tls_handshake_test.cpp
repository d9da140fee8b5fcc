// A server that speaks TLS, met by those who do and those who do not.
#include "runtime/handshake/dialer.h"
#include "server/fixture.h"
#include "support/certificates.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

TlsTrust pinned(const KeyPin& pin) { return {pin, {}, {}, {}}; }

class ServerTlsHandshakeTest : public ServerTest {
 protected:
  static TlsServer speaking(const CertificateFiles& files, const std::string& client_ca = {}) {
    return TlsServer({files.certificate, files.key, client_ca});
  }
  // The whole handshake of a client; what it is refused with, or nothing.
  static std::string refusal(const Address& address, const TlsTrust& trust, Role role = Role::kControl) {
    try {
      const auto connection = Dialer({address, {}, trust}).connect(5s);
      handshake_with_server(*connection, address, nullptr, role);
    } catch (const ConnectionError& error) {
      return error.what();
    }
    return "";
  }
  static void expect_words(const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }

  PrivateFolder folder_;
  const CertificateFiles files_ = own_certificate(folder_, "server");
  server::Server secured_{Address{"127.0.0.1", 0}, "0", {}, speaking(files_)};
};

TEST_F(ServerTlsHandshakeTest, ClientWithThePinHasASessionAndItsBulkConnection) {
  const Dialer dialer({secured_.address(), {}, pinned(files_.pin)});
  const auto control = dialer.connect(5s);
  ASSERT_NE(control->peer_certificate(), nullptr);
  EXPECT_EQ(control->peer_certificate()->key, files_.pin);
  const Welcome welcome = handshake_with_server(*control, secured_.address(), nullptr);
  const auto bulk = dialer.connect(5s);
  const Invitation invitation{welcome.session, welcome.epoch, welcome.secret};
  EXPECT_EQ(handshake_for_session(*bulk, secured_.address(), Role::kBulk, invitation).status, WelcomeStatus::kAccepted);
  EXPECT_EQ(secured_.sessions(), 1u);
  EXPECT_EQ(refusal(secured_.address(), pinned(files_.pin), Role::kMonitor), "");
}

TEST_F(ServerTlsHandshakeTest, PlainClientIsToldToNameThePin) {
  const std::string text = refusal(secured_.address(), {});
  expect_words(text, secured_.address().text() + " refused the connection: it speaks TLS only");
  expect_words(text, "?pin=sha256:...");
  Hello hello = hello_of(Role::kControl);
  hello.version = 5;
  EXPECT_EQ(shake_hands(*tcp::connect(secured_.address(), 5s), hello)->status, WelcomeStatus::kVersionMismatch);
  EXPECT_EQ(secured_.sessions(), 0u);
}

TEST_F(ServerTlsHandshakeTest, PlainServerTellsWhoAsksForTls) {
  expect_words(refusal(address(), pinned(files_.pin)), "refused the connection: it was started without --tls");
  WireClient(address()).ping();
}

TEST_F(ServerTlsHandshakeTest, AnotherKeyEndsItBeforeTheFirstWords) {
  expect_words(refusal(secured_.address(), pinned(own_certificate(folder_, "other").pin)), "has another key");
  EXPECT_TRUE(eventually([&] { return secured_.connections() == 0; }));
}

TEST_F(ServerTlsHandshakeTest, BusyIsToldToThoseWhoAskForTlsToo) {
  std::vector<std::unique_ptr<Connection>> strangers;
  for (int i = 0; i < 64; ++i) strangers.push_back(tcp::connect(secured_.address(), 5s));
  ASSERT_TRUE(eventually([&] { return secured_.connections() == 64; }));
  expect_words(refusal(secured_.address(), pinned(files_.pin)), "too many connections");
  strangers.clear();
  EXPECT_TRUE(eventually([&] { return secured_.connections() == 0; }));
  EXPECT_EQ(refusal(secured_.address(), pinned(files_.pin)), "");
}

TEST_F(ServerTlsHandshakeTest, ClientsCertificateIsAskedForAndExplained) {
  const Authority authority(folder_);
  const server::Server asking(Address{"127.0.0.1", 0}, "0", {}, speaking(files_, authority.file()));
  const auto with = [&](const CertificateFiles& files) {
    return TlsTrust{files_.pin, {}, files.certificate, files.key};
  };
  const auto friendly = with(authority.sign("friend", "DNS:laptop"));
  EXPECT_EQ(refusal(asking.address(), friendly), "");
  EXPECT_EQ(refusal(asking.address(), friendly, Role::kMonitor), "");
  for (const Role role : {Role::kControl, Role::kMonitor}) {
    expect_words(refusal(asking.address(), pinned(files_.pin), role), "it asks for a client's certificate");
    expect_words(refusal(asking.address(), with(authority.sign("former", "DNS:laptop", -60)), role),
                 "not accepted (certificate has expired)");
    expect_words(refusal(asking.address(), with(own_certificate(folder_, "stranger")), role), "not accepted (");
  }
}

// Those who say part of what they should, and those who have spoken TLS and say nothing in it.
TEST_F(ServerTlsHandshakeTest, StrangersHoldLittleAndNotForLong) {
  constexpr std::size_t kStrangers = 60;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kKibMax = 2048;  // what they add to each thread
#else
  constexpr std::size_t kKibMax = 64;
#endif
  refusal(secured_.address(), pinned(files_.pin));  // what the first one costs
  ASSERT_TRUE(eventually([&] { return secured_.connections() == 0; }));
  const std::uint8_t much[] = {0x16, 3, 1, 0x1f, 0xf0, 1, 0, 0x1f, 0xec};  // as much as is taken
  const std::vector<std::byte> most_of_it(8'000);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Connection>> strangers;
  const Dialer dialer({secured_.address(), {}, pinned(files_.pin)});
  for (std::size_t i = 0; i < kStrangers / 2; ++i) strangers.push_back(dialer.open(5s));
  const std::size_t before = resident_kib();
  for (const auto& stranger : strangers) dialer.secure(*stranger, handshake_deadline());
  for (std::size_t i = 0; i < kStrangers / 2; ++i) {
    strangers.push_back(tcp::connect(secured_.address(), 5s));
    strangers.back()->write(std::as_bytes(std::span(much)), most_of_it);
  }
  ASSERT_TRUE(eventually([&] { return secured_.connections() == kStrangers; }));
  std::this_thread::sleep_for(100ms);  // what they sent is being read
  // The 30 clients of TLS are in this process, too.
  EXPECT_LT(resident_kib(), before + (kStrangers + kStrangers / 2) * kKibMax);
  EXPECT_EQ(refusal(secured_.address(), pinned(files_.pin)), "") << "others are let in";
  EXPECT_TRUE(eventually([&] { return secured_.connections() == 0; }));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(kHandshakeTimeoutMs) - 100ms);
  EXPECT_LT(took, std::chrono::milliseconds(kHandshakeTimeoutMs) + 3s);
}

// A server that is to connect to another one.
class TlsPeerTest : public ServerTlsHandshakeTest {
 protected:
  // What comes of it; the other server has no such session, which is the last thing to be found out.
  std::string outcome(Bytes pin) {
    const PeerAddress peer{"127.0.0.1", secured_.address().port};
    client_.send(ConnectPeer{2, ++link_, 1, 1, Secret{}, std::span<const PeerAddress>(&peer, 1), pin});
    return std::string(client_.wait<PeerState>([this](const PeerState& state) { return state.link == link_; })->text);
  }
  WireClient client_{address()};
  LinkId link_ = 0;
};

TEST_F(TlsPeerTest, KeyThatTheClientNamesIsAskedFor) {
  expect_words(outcome(std::as_bytes(std::span(files_.pin))), "there is no such session");
  const KeyPin other = own_certificate(folder_, "other").pin;
  // That somebody there speaks TLS is nothing for a client to find out.
  expect_words(outcome(std::as_bytes(std::span(other))), "no server that is to be linked has answered");
  expect_words(outcome({}), "speaks TLS only");
}

TEST_F(TlsPeerTest, PinOfAWrongSizeBreaksTheProtocol) {
  const PeerAddress peer{"127.0.0.1", secured_.address().port};
  client_.send(ConnectPeer{2, 1, 1, 1, Secret{}, std::span<const PeerAddress>(&peer, 1), as_bytes("abc")});
  expect_session_error(client_, "wrong size");
}

}  // namespace
}  // namespace remotecl::testing
