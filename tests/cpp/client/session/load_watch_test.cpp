// What a client makes of the load that a server reports.
#include "runtime/client/session/load_sink.h"

#include <gtest/gtest.h>

#include <map>

#include "fakes/wire/wire_server.h"
#include "runtime/base/mutex.h"
#include "runtime/client/session/session.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class KeepingSink final : public LoadSink {
 public:
  void device_load(Session&, std::uint32_t device_index, const Load& load) override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    loads_[device_index] = load;
  }
  std::map<std::uint32_t, Load> loads() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return loads_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::uint32_t, Load> loads_ GUARDED_BY(mutex_);
};

class LoadWatchTest : public ::testing::Test {
 protected:
  LoadWatchTest() {
    server_.welcome_both(WireServer::accepted());
    session_.emplace(group_, ServerName{server_.address()}, 0);
    server_.ready();
  }

  void send(const LoadOfDevice& load, std::uint64_t own_weight_thousandths = 0) {
    server_.send(DeviceLoads{std::span<const LoadOfDevice>(&load, 1), own_weight_thousandths});
  }
  // Everything that the server has sent has been read.
  void catch_up() {
    std::jthread answer([this] {
      Ping ping{};
      if (server_.wait(ping)) server_.send(Pong{ping.token});
    });
    ASSERT_GE(session_->round_trip_us(std::chrono::steady_clock::now() + 10s), 0);
  }

  WireServer server_;
  SessionGroup group_;
  std::optional<Session> session_;
  KeepingSink sink_;
};

TEST_F(LoadWatchTest, ReportsReachTheSinkUntilTheWatchingEnds) {
  session_->watch_loads(&sink_);
  WatchLoads asked{};
  ASSERT_TRUE(server_.wait(asked));
  EXPECT_EQ(asked.is_wanted, 1u);
  send({3, 1'500'000, 2500}, 4000);
  catch_up();
  ASSERT_EQ(sink_.loads().size(), 1u);
  EXPECT_DOUBLE_EQ(sink_.loads().at(3).queued_s, 1.5);
  EXPECT_DOUBLE_EQ(sink_.loads().at(3).weight, 2.5);
  EXPECT_DOUBLE_EQ(sink_.loads().at(3).own, 4);

  session_->watch_loads(nullptr);
  ASSERT_TRUE(server_.wait(asked));
  EXPECT_EQ(asked.is_wanted, 0u);
  send({3, 0, 0});
  catch_up();
  EXPECT_DOUBLE_EQ(sink_.loads().at(3).queued_s, 1.5) << "nobody watches any more";
}

// The program waits for nothing, so the background thread has to read.
TEST_F(LoadWatchTest, ReportsAreReadWithoutAWait) {
  session_->watch_loads(&sink_);
  send({0, 1, 1});
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (sink_.loads().empty() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(sink_.loads().size(), 1u);
}

}  // namespace
}  // namespace remotecl::testing
