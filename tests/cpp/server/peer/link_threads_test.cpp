// A link whose threads cannot be started. This program stands between the server and the thread library.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "server/peer/peer_fixture.h"

namespace {

std::atomic<int> g_started{0};
std::atomic<int> g_failing{-1};  // the number of the one that fails, from 0; negative: none

}  // namespace

#pragma GCC visibility push(default)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static auto* const call = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  int number = g_started++;
  if (g_failing.compare_exchange_strong(number, -1)) return EAGAIN;
  return call(thread, attributes, function, argument);
}
#pragma GCC visibility pop

namespace remotecl::testing {
namespace {

class LinkThreadsTest : public HostilePeerTest, public ::testing::WithParamInterface<int> {};

// Otherwise commands would wait for ever for what comes over the link.
TEST_P(LinkThreadsTest, TheClientLearnsThatTheLinkIsLost) {
  const LinkId id = ++links_;
  a_.send(AcceptPeer{kSecond, id, secret_of(9)});
  a_.ping();
  control_ = knock(Role::kPeerControl, secret_of(9));
  ASSERT_TRUE(control_);
  const int before = g_started;
  const auto connection = connect_to_first();
  Hello hello = hello_of(Role::kPeerBulk);
  hello.session = a_.welcome().session;
  hello.secret = connecting_proof(secret_of(9), hello);
  ASSERT_TRUE(eventually([&] { return g_started > before; })) << "nothing reads the next bytes";
  g_failing = g_started + GetParam();
  ASSERT_TRUE(shake_hands(*connection, hello));
  EXPECT_EQ(state(a_, id), 1u);
  EXPECT_NE(end_of_link(a_), "");
  EXPECT_EQ(g_failing, -1) << "no thread has failed";
  a_.ping();
}

INSTANTIATE_TEST_SUITE_P(Threads, LinkThreadsTest, ::testing::Values(0, 1),
                         [](const auto& each) { return each.param == 0 ? "Reader" : "BulkReader"; });

}  // namespace
}  // namespace remotecl::testing
