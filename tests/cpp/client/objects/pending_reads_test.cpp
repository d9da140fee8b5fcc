#include "runtime/client/objects/pending_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "runtime/client/objects/event.h"

namespace remotecl {
namespace {

// Events that end when nothing holds them.
class PendingReadsTest : public ::testing::Test {
 protected:
  Ref<Event> event() {
    auto made = make_ref<Event>(context_);
    made->add_hold();  // until end_of() says that only reads hold it
    return made;
  }
  static bool has_ended(Event& event) { return event.status() == CL_COMPLETE; }
  Ref<Event> held() {
    auto made = event();
    reads_.hold(*made);
    go(*made);
    return made;
  }
  Ref<Event> held(const std::vector<PendingReads::Ticket>& tickets) {
    auto made = event();
    reads_.hold(*made, tickets);
    go(*made);
    return made;
  }
  static void go(Event& event) {
    event.complete(CL_COMPLETE);
    event.release_hold();
  }

  const Ref<Context> context_ =
      make_ref<Context>(std::vector<Device*>{}, std::vector<cl_context_properties>{}, nullptr, nullptr);
  PendingReads reads_;
};

TEST_F(PendingReadsTest, AnEventWaitsForAllReadsBeforeIt) {
  EXPECT_TRUE(has_ended(*held()));
  const auto first = reads_.begin();
  const auto after_first = held();
  const auto second = reads_.begin();
  const auto after_second = held();
  reads_.end(second);
  EXPECT_FALSE(has_ended(*after_second));
  EXPECT_FALSE(reads_.ended_through(second));
  const auto third = reads_.begin();
  reads_.end(first);
  EXPECT_TRUE(has_ended(*after_first));
  EXPECT_TRUE(has_ended(*after_second));
  EXPECT_TRUE(reads_.ended_through(second));
  EXPECT_FALSE(reads_.ended_through(third));
  reads_.end(third);
  EXPECT_TRUE(reads_.none());
}

TEST_F(PendingReadsTest, ABarrierHoldsLaterEventsOnly) {
  const auto first = reads_.begin(), second = reads_.begin();
  const auto before = held({second});
  reads_.barrier({second});
  const auto between = held(std::vector<PendingReads::Ticket>{});
  reads_.barrier();
  const auto behind = held(std::vector<PendingReads::Ticket>{});
  const auto unrelated = reads_.begin();
  reads_.end(second);
  EXPECT_TRUE(has_ended(*before));
  EXPECT_TRUE(has_ended(*between));
  EXPECT_FALSE(has_ended(*behind));
  reads_.end(first);
  EXPECT_TRUE(has_ended(*behind));
  reads_.end(unrelated);
}

// Against a model that knows for each event which reads it waits for.
TEST_F(PendingReadsTest, DoesWhatAModelDoes) {
  struct Waiting {
    Ref<Event> event;
    std::set<PendingReads::Ticket> reads;
  };
  std::mt19937 random(7);
  std::set<PendingReads::Ticket> pending, before_barrier;
  std::vector<Waiting> events;
  const auto some = [&] {
    std::vector<PendingReads::Ticket> tickets;
    std::ranges::copy_if(pending, std::back_inserter(tickets), [&](auto) { return random() % 4 == 0; });
    return tickets;
  };
  for (int step = 0; step < 5000; ++step) {
    switch (random() % 8) {
      case 0:
      case 1:
        pending.insert(reads_.begin());
        break;
      case 2:
      case 3:
        if (!pending.empty()) {
          const auto ended = *std::next(pending.begin(), static_cast<std::ptrdiff_t>(random() % pending.size()));
          pending.erase(ended);
          before_barrier.erase(ended);
          for (Waiting& one : events) one.reads.erase(ended);
          reads_.end(ended);
        }
        break;
      case 4:
        events.push_back({held(), pending});
        break;
      case 5: {
        const auto tickets = some();
        auto waits = before_barrier;
        waits.insert(tickets.begin(), tickets.end());
        events.push_back({held(tickets), waits});
        break;
      }
      case 6: {
        const auto tickets = some();
        before_barrier.insert(tickets.begin(), tickets.end());
        reads_.barrier(tickets);
        break;
      }
      default:
        if (random() % 20 != 0) break;
        before_barrier = pending;
        reads_.barrier();
    }
    for (const Waiting& one : events) ASSERT_EQ(has_ended(*one.event), one.reads.empty()) << "step " << step;
    std::erase_if(events, [](const Waiting& one) { return one.reads.empty(); });
    ASSERT_EQ(reads_.none(), pending.empty());
  }
  while (!pending.empty()) reads_.end(*pending.begin()), pending.erase(pending.begin());
}

}  // namespace
}  // namespace remotecl
