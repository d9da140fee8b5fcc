// A stream that is carried on again and again, by a server that may end each connection at once.
#include "runtime/handshake/reconnector.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/crypto/secret.h"
#include "runtime/transport/tcp/loopback.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/admission/handshake.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Has a stream of a session, whatever its counts, and nothing else.
class FakeServer {
 public:
  explicit FakeServer(const Invitation& invitation) : invitation_(invitation) {
    thread_ = std::thread([this] {
      while (auto connection = listener_.accept()) serve(*connection);
    });
  }
  ~FakeServer() {
    listener_.close();
    thread_.join();
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::shared_ptr<Connection> dial() { return tcp::connect(listener_.address(), 5s); }
  Address address() const { return listener_.address(); }
  // Returns when so many have come back since it was made.
  Clock::time_point await(int returns) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return returns_ >= returns; }));
    return Clock::now();
  }
  int returns() {
    const std::lock_guard lock(mutex_);
    return returns_;
  }
  // Sends a byte to each who comes back, before it ends the connection.
  void send_something() { sends_ = true; }
  // Answers each who comes back only after a while.
  void answer_after(std::chrono::milliseconds time) { answers_after_ = time; }
  // Ends each connection only after a while.
  void keep_for(std::chrono::milliseconds time) { kept_for_ = time; }

 private:
  void serve(Connection& connection) {
    const Deadline deadline = Clock::now() + 10s;
    const auto hello = server::read_hello(connection, invitation_.epoch, deadline);
    if (!hello) return;  // the test has ended, and counts those who come back
    std::this_thread::sleep_for(answers_after_.load());
    const auto back =
        server::readmit(connection, *hello, invitation_.epoch, {&invitation_.secret, 1}, kFeatureResume, deadline);
    if (!back) return;
    server::welcome_back(connection, invitation_.epoch, *hello, *back, kFeatureResume, 0);
    if (sends_) connection.write(as_bytes("x"));
    std::this_thread::sleep_for(kept_for_.load());
    const std::lock_guard lock(mutex_);
    ++returns_;
    changed_.notify_all();
  }

  const Invitation invitation_;
  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::mutex mutex_;
  std::condition_variable changed_;
  int returns_ = 0;
  std::atomic<bool> sends_{false};
  std::atomic<std::chrono::milliseconds> kept_for_{0ms}, answers_after_{0ms};
  std::thread thread_;
};

class ReconnectorTest : public ::testing::Test {
 protected:
  ReconnectorTest() {
    reconnector_.add(stream_, Role::kControl);
    reader_ = std::thread([this] {
      std::byte byte;
      while (stream_.read_some({&byte, 1}) != 0) {
        const std::lock_guard lock(mutex_);
        ++bytes_;
        changed_.notify_all();
      }
    });
  }
  ~ReconnectorTest() override {
    reconnector_.stop();
    stream_.shutdown();
    reader_.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string news_;
  int bytes_ = 0;  // of the stream
  const Invitation invitation_{7, 8, random_secret()};
  FakeServer server_{invitation_};
  Reconnector reconnector_{
      server_.address(),
      invitation_,
      30s,
      5s,
      join_by([this](std::chrono::milliseconds, Deadline) { return server_.dial(); }, server_.address()),
      [this](const std::string& news) {
        const std::lock_guard lock(mutex_);
        news_ += news + "\n";
      }};
  std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> first_ = loopback::make_pair();
  ResumableConnection stream_{
      std::move(first_.first), 30s, {[this] { reconnector_.broken(); }, [](std::uint64_t /*received*/) {}, {}}};
  std::thread reader_;
};

TEST_F(ReconnectorTest, AServerThatIsSlowWithItsAnswerIsWaitedFor) {
  server_.answer_after(std::chrono::milliseconds(kHandshakeTimeoutMs) + 1s);
  server_.send_something();
  server_.keep_for(1s);
  first_.second->shutdown();
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, 15s, [this] { return bytes_ != 0; })) << news_;
  server_.answer_after(0ms);
  EXPECT_EQ(news_.find("another program"), std::string::npos) << news_;
}

TEST_F(ReconnectorTest, ConnectionsOverWhichNothingComesAreMadeMoreAndMoreSlowly) {
  const auto begin = Clock::now();
  first_.second->shutdown();
  // The second one has shown that the first was of no use; from then on 10, 20, 40, 80 and 160 ms at least.
  const auto seventh = server_.await(7);
  EXPECT_GT(seventh - begin, 300ms);
  server_.send_something();
  const auto ninth = server_.await(9);  // the eighth is still waited for
  EXPECT_LT(server_.await(20) - ninth, 1s);
}

TEST_F(ReconnectorTest, IdleConnectionsThatLastAreMadeAgainAtOnce) {
  server_.keep_for(150ms);
  first_.second->shutdown();
  const auto first = server_.await(1);
  EXPECT_LT(server_.await(10) - first, 9 * 150ms + 1s);  // pauses would be 1270 ms at least
}

}  // namespace
}  // namespace remotecl::testing
