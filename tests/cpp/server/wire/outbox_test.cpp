#include "server/wire/outbox.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/wire/fault_connection.h"
#include "runtime/protocol/messages.h"

namespace remotecl::testing {
namespace {

using namespace server;

// A session may be ended before its client has been welcomed.
TEST(OutboxTest, NothingIsFasterThanWhatComesBeforeAllMessages) {
  const auto counters = make_ref<SessionCounters>(
      make_ref<MemoryQuota>(0, make_ref<Counters>(MemoryQuota::counters(0)), MemoryLimits{}, nullptr));
  const std::string welcome = "welcome";
  for (const bool ends : {false, true}) {
    FaultConnection wire;
    Outbox outbox(wire, counters);
    outbox.hold();
    ends ? outbox.close_with(SessionError{"the server is shutting down"}) : outbox.send(Finished{1});
    EXPECT_EQ(wire.written(), 0u);
    outbox.begin([&] { wire.try_write(as_bytes(welcome)); });
    std::string first(welcome.size(), ' ');
    wire.take(std::as_writable_bytes(std::span(first)));
    EXPECT_EQ(first, welcome);
    const std::size_t written = wire.written();
    EXPECT_GT(written, welcome.size());
    outbox.send(Finished{2});
    EXPECT_EQ(wire.written() > written, !ends);
  }
}

}  // namespace
}  // namespace remotecl::testing
