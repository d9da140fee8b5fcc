#include "server/execution/event_reporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fakes/wire/fault_connection.h"

namespace remotecl::testing {
namespace {

using namespace server;

// A client that asks for the end of an event while that is reported gets it, whichever comes first.
TEST(EventReporterTest, WhoAsksForAnEndThatIsJustReportedGetsIt) {
  constexpr int kRounds = 20000;
  const auto counters = make_ref<SessionCounters>(
      make_ref<MemoryQuota>(0, make_ref<Counters>(MemoryQuota::counters(0)), MemoryLimits{}, nullptr));
  FaultConnection wire;
  Outbox outbox(wire, counters);
  EventReporter reporter(outbox);
  std::unique_ptr<Event> event;
  // Both threads spin, so that they meet within nanoseconds.
  std::atomic<int> begun{0}, ended{0};
  const auto await = [](const std::atomic<int>& count, int wanted) {
    while (count < wanted) std::this_thread::yield();
  };
  std::thread reports([&] {
    for (int i = 0; i < kRounds; ++i) {
      await(begun, i + 1);
      reporter.end(*event, CL_COMPLETE, nullptr, nullptr);
      outbox.flush();
      ended = i + 1;
    }
  });
  int missed = 0;
  for (int i = 0; i < kRounds; ++i) {
    event = std::make_unique<Event>(i + 1, 1, nullptr, false);
    event->unhurried = true;
    const std::size_t before = wire.written();
    begun = i + 1;
    const auto later = std::chrono::steady_clock::now() + std::chrono::nanoseconds(i % 500 * 2);
    while (std::chrono::steady_clock::now() < later) {
    }
    if (event->unhurried.exchange(false)) outbox.hurry();
    outbox.flush();
    await(ended, i + 1);
    missed += wire.written() == before ? 1 : 0;
  }
  reports.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace remotecl::testing
