// A server that is slow with one of its answers, and in order otherwise.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "runtime/client/session/session.h"
#include "runtime/handshake/proof.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Longer than a server waits for somebody who has not proved anything.
constexpr auto kSlow = std::chrono::milliseconds(kHandshakeTimeoutMs) + 1s;

enum class Step { kFirstWord, kDeviceList, kBulkWelcome, kMemory, kNone };

class SlowServer {
 public:
  explicit SlowServer(Step slow) : slow_(slow) {
    thread_ = std::thread([this] { serve(); });
  }
  ~SlowServer() {
    listener_.close();
    thread_.join();
  }
  SlowServer(const SlowServer&) = delete;
  SlowServer& operator=(const SlowServer&) = delete;

  Address address() const { return listener_.address(); }

 private:
  void serve() {
    if (!welcome(control_, Step::kFirstWord, 0)) return;
    const std::uint64_t features = slow_ == Step::kMemory ? kFeatureSharedMemory : 0;
    if (!welcome(bulk_, Step::kBulkWelcome, features)) return;
    if (slow_ == Step::kMemory) {
      take_time(Step::kMemory);
      const std::uint64_t none = 0;
      bulk_->write(std::as_bytes(std::span(&none, 1)));
    }
    take_time(Step::kDeviceList);
    ByteBuffer out;
    append_message(out, DeviceList{});
    control_->write(out.bytes());
  }
  bool welcome(std::unique_ptr<Connection>& connection, Step step, std::uint64_t features) {
    connection = listener_.accept();
    std::array<std::byte, kHelloSize> bytes;
    if (connection == nullptr || !connection->read_exactly(bytes)) return false;
    const auto hello = decode_frame<Hello>(bytes);
    Welcome answer{kMagic, kProtocolVersion, WelcomeStatus::kAccepted, features, 1, {}, 1, 0, 0};
    if (hello.role == Role::kBulk) answer.secret = accepting_proof(answer.secret, hello, answer);
    take_time(step);
    return connection->write(Bytes(encode_frame<Welcome, kWelcomeSize>(answer)));
  }
  void take_time(Step step) const {
    if (step == slow_) std::this_thread::sleep_for(kSlow);
  }

  const Step slow_;
  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::unique_ptr<Connection> control_, bulk_;
  std::thread thread_;
};

std::string failure_of(Step slow) {
  SlowServer server(slow);
  try {
    SessionGroup group;
    const Session session(group, {server.address(), {}}, 0);
  } catch (const ConnectionError& error) {
    return error.what();
  }
  return "none";
}

TEST(SlowServer, IsWaitedForAtEachStepOfTheHandshake) {
  std::vector<std::pair<Step, std::future<std::string>>> attempts;
  for (const Step step : {Step::kFirstWord, Step::kDeviceList, Step::kBulkWelcome, Step::kMemory, Step::kNone}) {
    attempts.emplace_back(step, std::async(std::launch::async, [step] { return failure_of(step); }));
  }
  for (auto& [step, failure] : attempts) EXPECT_EQ(failure.get(), "none") << "slow at step " << static_cast<int>(step);
}

TEST(SlowServer, IsSaidToBeSlowWhenItIsGivenUp) {
  ::setenv("REMOTECL_RECONNECT", "0", 1);
  auto failure = std::async(std::launch::async, [] {
    tcp::Listener listener({"127.0.0.1", 0});
    auto refused = std::async(std::launch::async, [&listener]() -> std::string {
      try {
        SessionGroup group;
        const Session session(group, {listener.address(), {}}, 0);
      } catch (const ConnectionError& error) {
        return error.what();
      }
      return "none";
    });
    const auto control = listener.accept();
    std::array<std::byte, kHelloSize> hello;
    control->read_exactly(hello);
    control->write(Bytes(encode_frame<Welcome, kWelcomeSize>(
        Welcome{kMagic, kProtocolVersion, WelcomeStatus::kAccepted, 0, 1, {}, 1, 0, 0})));
    const auto bulk = listener.accept();
    return refused.get();
  });
  const std::string text = failure.get();
  ::unsetenv("REMOTECL_RECONNECT");
  EXPECT_NE(text.find("stopped, or very busy"), std::string::npos) << text;
  EXPECT_EQ(text.find("another program"), std::string::npos) << text;
}

}  // namespace
}  // namespace remotecl::testing
