// What the daemon has for a process whose channel is full.
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "server/fixture.h"
#include "server/isolation/isolated_session.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using namespace server;

// The process's end of the channel.
SessionChannel end_of(pid_t process) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return SessionChannel(
      Descriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), ChildProcess::kChannelDescriptor, 0))));
}

class FullChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto child = std::make_unique<ChildProcess>(ProcessCommand{"/bin/sh", {"sh", "-c", "exec sleep 1000"}});
    process_.emplace(end_of(child->id()));
    if (process_->descriptor() < 0) GTEST_SKIP() << "this system gives nobody another process's descriptor";
    const auto counters = make_ref<Counters>(User::counters_of_user(0), Counters::For::kThisProcess);
    session_.emplace(
        std::move(child), Address{}, *make_ref<User>("user", Limits{}, 0, counters), SessionLoad{}, [](bool) {}, [] {},
        peers_, nullptr, nullptr);
    daemon_ = std::thread([this] { session_->run(); });
    const LoadOfDevice load{};
    while (session_->pass_loads(std::span(&load, 1))) {
    }
    // One that another thread answers, and one that is refused at once.
    EXPECT_TRUE(process_->send(PacketType::kFind, StoreMessage{1, {}}));
    EXPECT_TRUE(process_->send(PacketType::kOpenSocket, SocketMessage{2, "udp://127.0.0.1:1", -1}));
    std::this_thread::sleep_for(100ms);
  }
  void TearDown() override {
    if (!session_) return;
    session_->kill();
    daemon_.join();
  }

  const PeerRules peers_;
  // Stays open after the process's end, as that of a program which the process has started.
  std::optional<SessionChannel> process_;
  std::optional<IsolatedSession> session_;
  std::thread daemon_;
};

TEST_F(FullChannelTest, TheAnswerToARequestComesOnceThereIsRoom) {
  std::set<std::uint64_t> answered;
  while (answered.size() < 2 && process_->await(std::chrono::steady_clock::now() + 5s)) {
    const auto packet = process_->receive();
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
