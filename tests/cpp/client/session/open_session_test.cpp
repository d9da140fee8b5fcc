// Servers whose first connections break.
#include "runtime/client/session/open_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "fakes/wire/wire_server.h"

namespace remotecl::testing {
namespace {

enum class Break { kAtOnce, kAfterHello, kAfterHalfAWelcome, kBulk };

// Breaks so many connections, and then is a server without devices.
class BreakingServer {
 public:
  BreakingServer(Break point, int count, Welcome welcome = WireServer::accepted())
      : point_(point), left_(count), welcome_(welcome), thread_([this] { serve(); }) {}
  ~BreakingServer() {
    listener_.close();
    thread_.join();
  }

  Address address() const { return listener_.address(); }
  int accepted() const { return accepted_; }

 private:
  void serve() {
    while (std::unique_ptr<Connection> connection = listener_.accept()) {
      ++accepted_;
      if (point_ == Break::kAtOnce && left_-- > 0) continue;
      std::array<std::byte, kHelloSize> bytes;
      if (!connection->read_exactly(bytes)) continue;
      const auto hello = decode_frame<Hello>(bytes);
      const bool is_bulk = hello.role == Role::kBulk;
      if (point_ != Break::kAtOnce && is_bulk == (point_ == Break::kBulk) && left_-- > 0) {
        if (point_ == Break::kAfterHalfAWelcome) connection->write(Bytes(encode(hello)).first(kWelcomeSize / 2));
        continue;
      }
      connection->write(encode(hello));
      ByteBuffer devices;
      append_message(devices, DeviceList{});
      if (!is_bulk) connection->write(devices.bytes());
      kept_.push_back(std::move(connection));
    }
  }
  std::array<std::byte, kWelcomeSize> encode(const Hello& hello) const {
    Welcome welcome = welcome_;
    if (hello.role == Role::kBulk) welcome.secret = accepting_proof(welcome.secret, hello, welcome);
    return encode_frame<Welcome, kWelcomeSize>(welcome);
  }

  const Break point_;
  std::atomic<int> left_;
  const Welcome welcome_;
  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::atomic<int> accepted_{0};
  std::vector<std::unique_ptr<Connection>> kept_;
  std::thread thread_;
};

class OpenSessionTest : public ::testing::Test {
 protected:
  OpenSessionTest() {
    ::setenv("REMOTECL_LOG", "off", 1);
    ::unsetenv("REMOTECL_RECONNECT");
  }
  ~OpenSessionTest() override {
    ::unsetenv("REMOTECL_LOG");
    ::unsetenv("REMOTECL_RECONNECT");
  }

  std::unique_ptr<Session> open(const BreakingServer& server) {
    return open_session(group_, ServerName{server.address(), {}}, 0);
  }
  SessionGroup group_;
};

TEST_F(OpenSessionTest, ABrokenConnectionIsMadeAgain) {
  for (const Break point : {Break::kAtOnce, Break::kAfterHello, Break::kAfterHalfAWelcome, Break::kBulk}) {
    const BreakingServer server(point, 3);
    EXPECT_NO_THROW(open(server)) << "point " << static_cast<int>(point);
    EXPECT_GE(server.accepted(), 5);
  }
}

TEST_F(OpenSessionTest, WhoNeverShowsToBeAServerIsGivenUpSoon) {
  const BreakingServer server(Break::kAfterHello, 1'000'000);
  EXPECT_THROW(open(server), ConnectionError);
  EXPECT_GE(server.accepted(), 2);
}

TEST_F(OpenSessionTest, WithoutReconnectingThereIsOneAttempt) {
  ::setenv("REMOTECL_RECONNECT", "0", 1);
  const BreakingServer server(Break::kAfterHello, 1'000'000);
  EXPECT_THROW(open(server), ConnectionError);
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(OpenSessionTest, ARefusalIsFinal) {
  Welcome refusal = WireServer::accepted();
  refusal.status = WelcomeStatus::kBusy;
  const BreakingServer server(Break::kAtOnce, 0, refusal);
  EXPECT_THROW(open(server), ConnectionError);
  EXPECT_EQ(server.accepted(), 1);
}

}  // namespace
}  // namespace remotecl::testing
