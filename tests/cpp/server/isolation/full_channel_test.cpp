// What the daemon has for a process whose channel is full.
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "server/fixture.h"
#include "server/isolation/fake_process.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using namespace server;

class FullChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    session_.emplace(
        std::move(process_.child), std::make_unique<SessionShare>(make_ref<UserShares>(0), SessionShare::Bounds{}),
        Address{}, *make_ref<User>("user", Limits{}, 0), SessionLoad{}, [](bool) {}, [] {}, nullptr, nullptr, nullptr);
    ASSERT_TRUE(begin(*session_, Address{}));
    daemon_ = std::thread([this] { session_->run(); });
    const LoadOfDevice load{};
    while (session_->pass_loads(std::span(&load, 1))) {
    }
    // One that another thread answers, and one that is refused at once.
    EXPECT_TRUE(process_.channel.send(PacketType::kFind, StoreMessage{1, {}}));
    EXPECT_TRUE(process_.channel.send(PacketType::kOpenSocket, SocketMessage{2, "udp://127.0.0.1:1", -1}));
    std::this_thread::sleep_for(100ms);
  }
  void TearDown() override {
    if (!session_) return;
    session_->kill();
    daemon_.join();
  }

  // Stays open after the process's end, as that of a program which the process has started.
  FakeProcess process_;
  std::optional<IsolatedSession> session_;
  std::thread daemon_;
};

TEST_F(FullChannelTest, TheAnswerToARequestComesOnceThereIsRoom) {
  std::set<std::uint64_t> answered;
  while (answered.size() < 2 && process_.channel.await(std::chrono::steady_clock::now() + 5s)) {
    const auto packet = process_.channel.receive();
    if (!packet) break;
    if (DoneMessage done; packet->type == PacketType::kDone && packet->read(done)) answered.insert(done.number);
  }
  EXPECT_EQ(answered, (std::set<std::uint64_t>{1, 2}));
}

// Nobody reads what a process that has ended would have got. The test ends, which a thread that waits would not let it.
TEST_F(FullChannelTest, AnAnswerForAProcessThatEndsIsGivenUp) {
  session_->kill();
  daemon_.join();
  session_.reset();
}

}  // namespace
}  // namespace remotecl::testing
