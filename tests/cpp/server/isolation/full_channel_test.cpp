// What the daemon has for a process whose channel is full.
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
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

TEST(FullChannelTest, TheAnswerToARequestComesOnceThereIsRoom) {
  auto child = std::make_unique<ChildProcess>(ProcessCommand{"/bin/sh", {"sh", "-c", "exec sleep 1000"}});
  SessionChannel process = end_of(child->id());
  if (process.descriptor() < 0) GTEST_SKIP() << "this system gives nobody another process's descriptor";
  const PeerRules peers;
  IsolatedSession session(
      std::move(child), {}, "", {}, [](bool) {}, [] {}, peers, nullptr, nullptr);
  std::thread daemon([&session] { session.run(); });
  const LoadOfDevice load{};
  while (session.pass_loads(std::span(&load, 1))) {
  }
  // One that another thread answers, and one that is refused at once.
  EXPECT_TRUE(process.send(PacketType::kFind, StoreMessage{1, {}}));
  EXPECT_TRUE(process.send(PacketType::kOpenSocket, SocketMessage{2, "udp://127.0.0.1:1", -1}));
  std::this_thread::sleep_for(100ms);
  std::set<std::uint64_t> answered;
  while (answered.size() < 2 && process.await(std::chrono::steady_clock::now() + 5s)) {
    const auto packet = process.receive();
    if (!packet) break;
    if (DoneMessage done; packet->type == PacketType::kDone && packet->read(done)) answered.insert(done.number);
  }
  EXPECT_EQ(answered, (std::set<std::uint64_t>{1, 2}));
  session.kill();
  daemon.join();
}

// Nobody reads what a process that has ended would have got.
TEST(FullChannelTest, AnAnswerForAProcessThatEndsIsGivenUp) {
  auto child = std::make_unique<ChildProcess>(ProcessCommand{"/bin/sh", {"sh", "-c", "exec sleep 1000"}});
  SessionChannel process = end_of(child->id());  // stays open, as that of a program which the process has started
  if (process.descriptor() < 0) GTEST_SKIP() << "this system gives nobody another process's descriptor";
  const PeerRules peers;
  IsolatedSession session(
      std::move(child), {}, "", {}, [](bool) {}, [] {}, peers, nullptr, nullptr);
  std::thread daemon([&session] { session.run(); });
  const LoadOfDevice load{};
  while (session.pass_loads(std::span(&load, 1))) {
  }
  EXPECT_TRUE(process.send(PacketType::kFind, StoreMessage{1, {}}));
  EXPECT_TRUE(process.send(PacketType::kOpenSocket, SocketMessage{2, "udp://127.0.0.1:1", -1}));
  std::this_thread::sleep_for(100ms);
  session.kill();
  daemon.join();
}

}  // namespace
}  // namespace remotecl::testing
