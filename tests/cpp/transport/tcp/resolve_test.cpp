// Names that a name server does not resolve.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <future>
#include <string_view>
#include <thread>

#include "runtime/transport/tcp/tcp.h"

namespace {

constexpr std::string_view kSilentName = "silent.test";  // whose name server says nothing until it is let go

std::promise<void>& let_go() {
  static std::promise<void> promise;
  return promise;
}

std::shared_future<void> let_go_future() {
  static const std::shared_future<void> future = let_go().get_future().share();
  return future;
}

std::atomic<int> lookups_ended{0};

}  // namespace

// In the place of the C library's, for this program.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  if (host != nullptr && host == kSilentName) {
    let_go_future().wait();
    ++lookups_ended;
    return EAI_AGAIN;
  }
  using Lookup = int(const char*, const char*, const addrinfo*, addrinfo**);
  static Lookup* const next = reinterpret_cast<Lookup*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(host, service, hints, found);
}

namespace remotecl {
namespace {

using namespace std::chrono_literals;

template <class Act>
std::string failure_of(Act act) {
  try {
    act();
  } catch (const ConnectionError& error) {
    return error.what();
  }
  return "none";
}

// The silent name's lookups end with the test that has begun them.
class SilentName {
 public:
  SilentName() : future_(let_go_future()) {}
  ~SilentName() {
    let_go().set_value();
    while (lookups_ended == 0) std::this_thread::yield();
  }

 private:
  std::shared_future<void> future_;
};

TEST(Resolve, ANameServerThatSaysNothingIsWaitedForNoLongerThanForAServer) {
  std::future<std::string> failed;
  const SilentName silent;
  failed = std::async(std::launch::async, [] {
    return failure_of([] { tcp::connect({std::string(kSilentName), 1}, 200ms); });
  });
  ASSERT_EQ(failed.wait_for(10s), std::future_status::ready) << "it waits for the name server";
  const std::string text = failed.get();
  EXPECT_NE(text.find("\"silent.test\""), std::string::npos) << text;
  EXPECT_NE(text.find("no answer"), std::string::npos) << text;
  EXPECT_NE(text.find("IP address"), std::string::npos) << text;
}

TEST(Resolve, NamesAndNumbersLeadToTheSamePort) {
  tcp::Listener listener({"127.0.0.1", 0});
  for (const char* host : {"localhost", "127.0.0.1"}) {
    EXPECT_NE(tcp::connect({host, listener.address().port}, 5s), nullptr) << host;
  }
}

TEST(Resolve, ANameThatIsNoneIsSaidToBe) {
  const std::string text = failure_of([] { tcp::connect({"no such name", 1}, 5s); });
  EXPECT_NE(text.find("cannot resolve the host name \"no such name\""), std::string::npos) << text;
}

}  // namespace
}  // namespace remotecl
