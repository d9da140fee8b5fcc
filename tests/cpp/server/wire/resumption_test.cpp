// A client that loses its connection and comes back, by hand.
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class ResumptionTest : public ServerTest {
 protected:
  ResumptionTest() {
    begin(kFeatureResumable);
    wait<DeviceList>();
  }

  void begin(std::uint64_t features) {
    control_ = connect();
    control_->set_read_timeout(20s);
    const Welcome welcome = handshake_with_server(*control_, address(), nullptr, Role::kControl, features);
    control_->set_read_timeout(20s);
    invitation_ = {welcome.session, welcome.epoch, welcome.secret};
    in_ = MessageBuffer();
    sent_ = received_ = 0;
  }
  template <class Message>
  static ByteBuffer encoded(const Message& message) {
    ByteBuffer bytes;
    append_message(bytes, message);
    return bytes;
  }
  void write(Bytes bytes) {
    control_->write(bytes);
    sent_ += bytes.size();
  }
  // The next message, which must be of this kind. Throws when the server closes.
  template <class Message>
  void wait() {
    std::uint16_t code = 0;
    Bytes payload;
    for (;;) {
      const auto next = in_.next(code, payload);
      if (next == MessageBuffer::Next::kMessage) break;
      const std::size_t count = control_->read_some(in_.space());
      if (count == 0) throw std::runtime_error("the server closed");
      received_ += count;
      in_.commit(count);
    }
    ASSERT_EQ(message_name(code), message_name(Message::kCode));
  }
  // What the server has received.
  std::uint64_t come_back(const Secret& secret, std::uint64_t received) {
    control_ = connect();
    Invitation invitation = invitation_;
    invitation.secret = secret;
    const std::uint64_t there = handshake_again(*control_, address(), Role::kControl, invitation, received).received;
    control_->set_read_timeout(20s);
    return there;
  }
  std::uint64_t come_back() { return come_back(invitation_.secret, received_); }
  bool ends() {
    return eventually([&] { return server_.sessions() == 0; });
  }
  void introduce(std::uint64_t process, std::uint32_t window_ms) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    write(encoded(Introduce{process, host, "test", window_ms, {}}).bytes());
    write(encoded(Ping{1}).bytes());
    wait<Pong>();
  }

  std::unique_ptr<Connection> control_;
  Invitation invitation_{};
  MessageBuffer in_;
  std::uint64_t sent_ = 0, received_ = 0;
};

TEST_F(ResumptionTest, TheServerGoesOnInTheMiddleOfAMessage) {
  const ByteBuffer ping = encoded(Ping{7});
  write(ping.bytes().first(5));
  control_.reset();
  // The five bytes may have been lost on their way.
  const std::uint64_t there = come_back();
  ASSERT_LE(there, sent_);
  const std::uint64_t before = sent_ - 5;
  write(ping.bytes().subspan(there - before));
  wait<Pong>();
}

TEST_F(ResumptionTest, RepliesThatWereNotReceivedComeAgain) {
  write(encoded(Ping{1}).bytes());
  std::byte byte;
  ASSERT_EQ(control_->read_some({&byte, 1}), 1u);  // the reply is here, and is not counted
  EXPECT_EQ(come_back(), sent_);
  wait<Pong>();
}

TEST_F(ResumptionTest, AnotherConnectionTakesThePlaceOfOneThatSeemsWell) {
  const auto former = std::move(control_);
  EXPECT_EQ(come_back(), sent_);
  write(encoded(Ping{1}).bytes());
  wait<Pong>();
  former->set_read_timeout(20s);
  std::byte byte;
  EXPECT_EQ(former->read_some({&byte, 1}), 0u);
}

TEST_F(ResumptionTest, WhoDoesNotKnowTheSecretChangesNothing) {
  auto former = std::move(control_);
  EXPECT_THROW(come_back(Secret{1, 2, 3}, 0), ConnectionError);
  control_ = std::move(former);
  write(encoded(Ping{1}).bytes());
  wait<Pong>();
}

TEST_F(ResumptionTest, WhatWasSaidOnceProvesNothingLater) {
  control_ = connect();
  Hello hello{kMagic, kProtocolVersion, Role::kControl, kFeatureResume, invitation_.session, random_secret()};
  const auto prove_to = [&](const Secret& nonce) {
    const Transcript said{Role::kControl,    kFeatureResume, 0,    invitation_.session,
                          invitation_.epoch, hello.secret,   nonce};
    ByteBuffer words;
    const Proof proof = prove(std::as_bytes(std::span(invitation_.secret)), Claim::kConnecting, said);
    words.append(std::as_bytes(std::span(proof)));
    words.append(encode_frame<ResumeAt, kResumeAtSize>(ResumeAt{received_}));
    return words;
  };
  const auto challenge = shake_hands(*control_, hello);
  ASSERT_TRUE(challenge);
  ASSERT_EQ(challenge->status, WelcomeStatus::kProve);
  const ByteBuffer words = prove_to(challenge->secret);
  control_->write(words.bytes());
  std::array<std::byte, kWelcomeSize + kResumeAtSize> answer;
  ASSERT_TRUE(control_->read_exactly(answer));
  EXPECT_EQ(decode_frame<Welcome>(answer).status, WelcomeStatus::kAccepted);

  const auto replay = connect();
  replay->set_read_timeout(20s);
  ASSERT_TRUE(shake_hands(*replay, hello));
  replay->write(words.bytes());
  EXPECT_FALSE(replay->read_exactly(answer));
  write(encoded(Ping{1}).bytes());
  wait<Pong>();
}

TEST_F(ResumptionTest, NobodyCanHaveReceivedWhatWasNotSent) {
  write(encoded(ClientReceived{StreamKind::kControl, 0, received_ + 1'000'000}).bytes());
  wait<SessionError>();
  EXPECT_TRUE(ends());
}

// Before it is welcomed, so that it does not try again and again.
TEST_F(ResumptionTest, WhoSaysSoWhenComingBackLosesTheSession) {
  EXPECT_THROW(come_back(invitation_.secret, received_ + 1'000'000), StreamGone);
  EXPECT_TRUE(ends());
}

TEST_F(ResumptionTest, AnAttemptThatComesLateChangesNothing) {
  const std::uint64_t before = received_;
  write(encoded(Ping{1}).bytes());
  wait<Pong>();
  write(encoded(ClientReceived{StreamKind::kControl, 0, received_}).bytes());
  write(encoded(Ping{2}).bytes());
  wait<Pong>();
  EXPECT_THROW(come_back(invitation_.secret, before), StreamGone);
  EXPECT_EQ(come_back(), sent_);
  write(encoded(Ping{3}).bytes());
  wait<Pong>();
}

TEST_F(ResumptionTest, TheSessionEndsWhenTheClientStaysAway) {
  introduce(0, 100);
  control_.reset();
  EXPECT_TRUE(ends());
  EXPECT_THROW(come_back(), StreamGone);
}

TEST_F(ResumptionTest, TheSessionEndsAtOnceWhenTheClientLeaves) {
  introduce(0, 60'000);
  write(encoded(Leave{}).bytes());
  control_.reset();
  EXPECT_TRUE(ends());
}

TEST_F(ResumptionTest, TheSessionEndsSoonWhenTheClientsProcessHas) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  introduce(static_cast<std::uint64_t>(child), 60'000);
  control_.reset();
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(server_.sessions(), 1u) << "it may come back";
  ::kill(child, SIGKILL);
  EXPECT_TRUE(ends());
  ::waitpid(child, nullptr, 0);
}

TEST_F(ResumptionTest, WhoDidNotAskForItIsNotWaitedFor) {
  write(encoded(Leave{}).bytes());
  control_.reset();
  EXPECT_TRUE(ends());
  begin(0);
  wait<DeviceList>();
  control_.reset();
  EXPECT_TRUE(ends());
  EXPECT_THROW(come_back(), StreamGone);
}

TEST_F(ResumptionTest, AnotherServerIsNotTakenForTheFormerOne) {
  ++invitation_.epoch;
  EXPECT_THROW(come_back(), StreamGone);
}

}  // namespace
}  // namespace remotecl::testing
