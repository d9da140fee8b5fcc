// A session that its process gets late. This program stands between the daemon and the processes of its sessions.
#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <future>

#include "fakes/wire/wire_monitor.h"
#include "server/fixture.h"
#include "server/isolation/session_channel.h"
#include "server/status/load_fixture.h"
#include "server/status/load_reporter.h"

namespace {

using remotecl::server::PacketType;

std::atomic<bool> g_is_holding{false};  // the next session is not handed over
std::atomic<int> g_held{-1};            // the channel that it would go over
std::atomic<int> g_early{0};            // packets that went over this channel before it

bool is_begin(const msghdr& message) {
  PacketType type{};
  if (message.msg_iovlen != 1 || message.msg_iov[0].iov_len < sizeof type) return false;
  std::memcpy(&type, message.msg_iov[0].iov_base, sizeof type);
  return type == PacketType::kBegin;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static auto* const call = reinterpret_cast<decltype(&sendmsg)>(::dlsym(RTLD_NEXT, "sendmsg"));
  if (g_is_holding && is_begin(*message)) {
    g_held = socket;
    g_held.notify_all();
    g_is_holding.wait(true);
    g_held = -1;
  } else if (socket == g_held) {
    ++g_early;
  }
  return call(socket, message, flags);
}
#pragma GCC visibility pop

namespace remotecl::testing {
namespace {

class LateBeginTest : public ::testing::Test {
 protected:
  // A session that begins when release() is called.
  std::future<std::unique_ptr<HeldWork>> hold() {
    g_early = 0;
    g_is_holding = true;
    auto session = std::async(std::launch::async, [this] { return std::make_unique<HeldWork>(server_.address()); });
    g_held.wait(-1);
    return session;
  }
  static void release() {
    g_is_holding = false;
    g_is_holding.notify_all();
  }

  server::Server server_{Address{"127.0.0.1", 0}, "0", {}, {}, {}, isolation()};
};

TEST_F(LateBeginTest, ItsLoadIsSeenByThoseWhoWatchedBefore) {
  Watching watching(server_.address());
  HeldWork other(server_.address());
  other.begin(1);
  watching.next_with(is_some);
  auto held = hold();
  std::this_thread::sleep_for(10 * server::LoadReporter::kPeriod);  // while there is load, it looks in each period
  release();
  EXPECT_EQ(g_early, 0);
  const auto work = held.get();
  other.end();
  watching.next_with(is_zero);
  work->begin(1);
  watching.next_with(is_some);
}

TEST_F(LateBeginTest, QuestionsForTheStatusDoNotWaitForIt) {
  auto held = hold();
  EXPECT_TRUE(WireMonitor(server_.address()).ask().sessions.empty());
  EXPECT_EQ(g_early, 0);
  release();
  const auto work = held.get();
  // The session may be shown a moment after its client has been welcomed.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto shown = [this] { return WireMonitor(server_.address()).ask().sessions.size(); };
  while (shown() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(shown(), 1u);
}

}  // namespace
}  // namespace remotecl::testing
