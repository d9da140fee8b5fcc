// What is reported to a session of the work that others have on the devices.
#include <algorithm>

#include "fakes/wire/wire_monitor.h"
#include "server/fixture.h"
#include "server/status/load_fixture.h"
#include "server/status/load_reporter.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// In the daemon's process, or in processes of the sessions.
class LoadWatchTest : public ::testing::TestWithParam<bool> {
 protected:
  static LimitsTable limits() {
    LimitsTable limits;
    limits.standard.weight = 2.5;
    return limits;
  }

  server::Server server_{Address{"127.0.0.1", 0},
                         "0",
                         {},
                         {},
                         limits(),
                         GetParam() ? isolation() : std::optional<server::ProcessCommand>()};
};

INSTANTIATE_TEST_SUITE_P(Load, LoadWatchTest, ::testing::Bool(), [](const auto& with) {
  return with.param ? std::string("Isolated") : std::string("Together");
});

TEST_P(LoadWatchTest, OthersWorkAppearsSoonAndGoesAway) {
  HeldWork work(server_.address());
  Watching watching(server_.address());
  Clock::duration shortest = 1h;
  for (int i = 0; i < 5; ++i) {
    const auto begun = Clock::now();
    work.begin(3);
    const LoadOfDevice load = watching.next_with(is_some);
    shortest = std::min(shortest, Clock::now() - begun);
    EXPECT_EQ(load.weight_thousandths, 2500u);
    work.end();
    watching.next_with(is_zero);
  }
  EXPECT_LT(shortest, 50ms) << "the best of several, for machines with other things to do";
}

TEST_P(LoadWatchTest, EachSessionHasItsWeight) {
  HeldWork one(server_.address()), two(server_.address());
  Watching watching(server_.address());
  one.begin(1);
  const LoadOfDevice first = watching.next_with(is_some);
  two.begin(100);
  const LoadOfDevice both =
      watching.next_with([&first](const LoadOfDevice& load) { return load.queued_us > 10 * first.queued_us; });
  EXPECT_EQ(both.weight_thousandths, 5000u);
  one.end();
  two.end();
  watching.next_with(is_zero);
}

TEST_P(LoadWatchTest, OnesOwnWorkIsNoLoad) {
  HeldWork work(server_.address()), other(server_.address());
  work.client().send(WatchLoads{1});
  EXPECT_TRUE(is_zero(next_load(work.client())));
  Watching watching(server_.address());
  work.begin(100);
  const LoadOfDevice seen = watching.next_with(is_some);
  other.begin(1);
  const LoadOfDevice own = next_load(work.client());
  EXPECT_TRUE(is_some(own));
  EXPECT_LT(own.queued_us, seen.queued_us / 10) << "of one command, and not of a hundred and one";
}

TEST_P(LoadWatchTest, TheLoadOfASessionThatEndsGoesAway) {
  Watching watching(server_.address());
  {
    HeldWork work(server_.address());
    work.begin(1);
    watching.next_with(is_some);
  }
  watching.next_with(is_zero);
}

TEST_P(LoadWatchTest, WithoutChangesOrWatchersThereAreNoReports) {
  HeldWork work(server_.address());
  Watching watching(server_.address()), other(server_.address());
  watching.client().send(WatchLoads{0});
  watching.client().ping();
  while (watching.client().has<DeviceLoads>()) watching.client().wait<DeviceLoads>();
  work.begin(1);
  other.next_with(is_some);  // the server has reported to whom it had to
  work.end();
  other.next_with(is_zero);
  watching.client().ping();
  EXPECT_FALSE(watching.client().has<DeviceLoads>());
  // A while without work. The one who watches is told nothing either.
  std::this_thread::sleep_for(10 * server::LoadReporter::kPeriod);
  other.client().ping();
  EXPECT_FALSE(other.client().has<DeviceLoads>());
}

TEST_P(LoadWatchTest, AskingAgainNamesEveryDeviceAgain) {
  HeldWork work(server_.address());
  work.begin(1);
  Watching watching(server_.address());
  for (int i = 0; i < 3; ++i) {
    watching.client().send(WatchLoads{1});
    watching.next();
  }
  watching.client().send(WatchLoads{0});
  watching.client().ping();
}

TEST_P(LoadWatchTest, WantsIsYesOrNo) {
  WireClient client(server_.address());
  client.send(WatchLoads{2});
  EXPECT_NE(client.wait<SessionError>()->text.find("wants"), std::string::npos);
}

// Reads whose answers the client leaves where they are: more than sockets take.
void leave_answers(WireClient& client, const Address& server) {
  constexpr std::uint64_t kReads = 400, kSize = 64'000;
  const ObjectId queue = client.make_queue(), buffer = client.make_buffer(kSize);
  for (std::uint64_t i = 0; i < kReads; ++i) {
    client.add(EnqueueRead{queue, client.id(), buffer, 0, kSize, client.id(), {}});
  }
  client.flush();
  WireMonitor monitor(server);
  const auto is_answered = [&monitor] {
    const KnownStatus seen = monitor.ask();
    return std::ranges::any_of(seen.sessions, [](const auto& each) { return each.traffic.messages_sent > kReads; });
  };
  ASSERT_TRUE(ServerTest::eventually(is_answered));
}

TEST_P(LoadWatchTest, AClientThatDoesNotReadIsToldOnlyTheNewest) {
  HeldWork work(server_.address());
  Watching watching(server_.address()), other(server_.address());
  leave_answers(watching.client(), server_.address());
  for (int i = 0; i < 50; ++i) {
    work.begin(1);
    other.next_with(is_some);
    work.end();
    other.next_with(is_zero);
  }
  work.begin(1);
  other.next_with(is_some);
  int reports = 1;
  while (!is_some(watching.next())) ++reports;
  watching.client().ping();
  for (; watching.client().has<DeviceLoads>(); ++reports) watching.client().wait<DeviceLoads>();
  EXPECT_LE(reports, 10) << "of 101 loads";
}

}  // namespace
}  // namespace remotecl::testing
