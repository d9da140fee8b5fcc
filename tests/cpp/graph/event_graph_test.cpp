#include "runtime/graph/event_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "event_graph_fixture.h"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// Not inlined: the compiler would take malloc() and free() for mismatched pairs with the other operators.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace remotecl {
namespace {

TEST_F(EventGraphTest, KnowsNothingAtFirst) {
  EXPECT_FALSE(graph_.pending(1));
  EXPECT_FALSE(graph_.known(1));
  EXPECT_EQ(graph_.status(1), std::nullopt);
  EXPECT_FALSE(complete(1));
  EXPECT_FALSE(graph_.known(1));
  EXPECT_EQ(graph_.pending_events(), 0u);
  EXPECT_EQ(graph_.deferred_actions(), 0u);
}

TEST_F(EventGraphTest, EventIsPendingUntilItEnds) {
  EXPECT_TRUE(graph_.expect(7));
  EXPECT_TRUE(graph_.pending(7));
  EXPECT_TRUE(graph_.known(7));
  EXPECT_EQ(graph_.status(7), std::nullopt);
  EXPECT_EQ(graph_.pending_events(), 1u);

  EXPECT_TRUE(complete(7, kOutOfResources));
  EXPECT_FALSE(graph_.pending(7));
  EXPECT_TRUE(graph_.known(7));
  EXPECT_EQ(graph_.status(7), kOutOfResources);
  EXPECT_EQ(graph_.pending_events(), 0u);
}

TEST_F(EventGraphTest, IdExistsOnce) {
  EXPECT_TRUE(graph_.expect(7));
  EXPECT_FALSE(graph_.expect(7));
  EXPECT_EQ(graph_.pending_events(), 1u);
  complete(7);
  EXPECT_FALSE(graph_.expect(7));
  EXPECT_FALSE(graph_.pending(7));
  EXPECT_EQ(graph_.pending_events(), 0u);
}

TEST_F(EventGraphTest, SecondCompletionIsRefusedAndChangesNothing) {
  expect({1});
  EXPECT_TRUE(complete(1));
  EXPECT_FALSE(complete(1, kOutOfResources));
  EXPECT_EQ(graph_.status(1), 0);
  EXPECT_EQ(graph_.pending_events(), 0u);
}

TEST_F(EventGraphTest, PositiveStatusCountsAsSuccess) {
  expect({1});
  defer(10, {1});
  complete(1, 3);
  EXPECT_EQ(graph_.status(1), 0);
  EXPECT_EQ(take_runs(), (Runs{{10, 0}}));
  EXPECT_EQ(failure({1}), 0);
}

TEST_F(EventGraphTest, CompletionAppendsToReady) {
  expect({1});
  std::vector<EventGraph::Ready> ready;
  ready.push_back({[](std::int32_t) {}, -99});
  graph_.defer(std::vector<EventId>{1}, [](std::int32_t) {});
  EXPECT_TRUE(graph_.complete(1, kOutOfResources, ready));
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].status, -99);
  EXPECT_EQ(ready[1].status, kOutOfResources);
}

TEST_F(EventGraphTest, NothingPendingIsNotDeferred) {
  expect({1});
  complete(1);
  EXPECT_FALSE(defer(10, {}));
  EXPECT_FALSE(defer(11, {1}));
  EXPECT_FALSE(defer(12, {1, 99}));  // 99 was never heard of
  EXPECT_EQ(graph_.deferred_actions(), 0u);
  EXPECT_EQ(take_runs(), Runs{});
}

TEST_F(EventGraphTest, ActionThatIsNotDeferredStaysWithTheCaller) {
  int runs = 0;
  EventGraph::Action action = [&](std::int32_t) { ++runs; };
  ASSERT_FALSE(graph_.defer({}, std::move(action)));
  ASSERT_TRUE(action);
  action(0);
  EXPECT_EQ(runs, 1);
}

TEST_F(EventGraphTest, DeferCopiesAnActionThatIsNotMoved) {
  expect({1});
  int runs = 0;
  const EventGraph::Action action = [&](std::int32_t) { ++runs; };
  ASSERT_TRUE(graph_.defer(std::vector<EventId>{1}, action));
  ASSERT_TRUE(action);
  std::vector<EventGraph::Ready> ready;
  graph_.complete(1, 0, ready);
  ASSERT_EQ(ready.size(), 1u);
  ready[0].action(0);
  EXPECT_EQ(runs, 1);
}

TEST_F(EventGraphTest, NothingPendingAllocatesNothing) {
  for (EventId id = 1; id <= 100; ++id) graph_.expect(id);
  for (EventId id = 1; id <= 100; ++id) complete(id, id % 2 ? 0 : kOutOfResources);
  std::vector<EventId> dependencies;
  for (EventId id = 1; id <= 200; ++id) dependencies.push_back(id);
  const std::vector<char> large(1000);
  EventGraph::Action action = [large](std::int32_t) {};
  const EventGraph::Action& same_action = action;

  const std::size_t before = allocations;
  const bool moved = graph_.defer(dependencies, std::move(action));
  const bool copied = graph_.defer(dependencies, same_action);
  const std::int32_t failed = graph_.failure(dependencies);
  const std::size_t after = allocations;

  EXPECT_EQ(after, before);
  EXPECT_FALSE(moved);
  EXPECT_FALSE(copied);
  EXPECT_EQ(failed, kOutOfResources);
  graph_.expect(1000);
  EXPECT_GT(allocations, after) << "the counter does not count";
}

TEST_F(EventGraphTest, WaitsForAllDependencies) {
  expect({1, 2, 3});
  EXPECT_TRUE(defer(10, {1, 2, 3}));
  EXPECT_EQ(graph_.deferred_actions(), 1u);
  complete(2);
  complete(1);
  EXPECT_EQ(take_runs(), Runs{});
  complete(3);
  EXPECT_EQ(take_runs(), (Runs{{10, 0}}));
  EXPECT_EQ(graph_.deferred_actions(), 0u);
}

TEST_F(EventGraphTest, EndedAndUnknownDependenciesDoNotHoldBack) {
  expect({1, 2});
  complete(1);
  EXPECT_TRUE(defer(10, {1, 2, 99}));
  complete(2);
  EXPECT_EQ(take_runs(), (Runs{{10, 0}}));
}

TEST_F(EventGraphTest, UnknownDependencyThatIsExpectedLaterDoesNotHoldBack) {
  expect({1});
  defer(10, {1, 2});
  expect({2});
  complete(1);
  EXPECT_EQ(take_runs(), (Runs{{10, 0}}));
  EXPECT_TRUE(complete(2));
  EXPECT_EQ(take_runs(), Runs{});
}

TEST_F(EventGraphTest, ReadyInTheOrderOfDeferral) {
  expect({1, 2});
  defer(10, {1});
  defer(11, {2, 1});
  defer(12, {1});
  defer(13, {1, 2});
  defer(14, {2});
  defer(15, {1, 1});
  complete(2);
  EXPECT_EQ(take_runs(), (Runs{{14, 0}}));
  complete(1);
  EXPECT_EQ(take_runs(), (Runs{{10, 0}, {11, 0}, {12, 0}, {13, 0}, {15, 0}}));
}

TEST_F(EventGraphTest, DuplicateDependencies) {
  expect({1, 2});
  EXPECT_TRUE(defer(10, {1, 1, 2, 1, 2, 2}));
  EXPECT_TRUE(defer(11, {2, 1, 2, 1}));
  complete(1);
  EXPECT_EQ(take_runs(), Runs{});
  complete(2, kOutOfResources);
  EXPECT_EQ(take_runs(), (Runs{{10, kOutOfResources}, {11, kOutOfResources}}));
  EXPECT_FALSE(defer(12, {1, 1, 2, 2}));
}

TEST_F(EventGraphTest, Diamond) {
  // Command 1 feeds 2 and 3, which feed 4; every action ends its own event.
  expect({1, 2, 3, 4});
  defer(2, {1});
  defer(3, {1});
  defer(4, {2, 3});
  complete(1);
  EXPECT_EQ(take_runs(), (Runs{{2, 0}, {3, 0}}));
  complete(3);
  EXPECT_EQ(take_runs(), Runs{});
  complete(2);
  EXPECT_EQ(take_runs(), (Runs{{4, 0}}));
  complete(4);
  EXPECT_EQ(graph_.pending_events(), 0u);
  EXPECT_EQ(graph_.deferred_actions(), 0u);
}

TEST_F(EventGraphTest, LetsGoOfWhatAnActionHolds) {
  auto held = std::make_shared<int>();
  {
    EventGraph graph;
    graph.expect(1);
    graph.expect(2);
    graph.defer(std::vector<EventId>{1}, [held](std::int32_t) {});
    graph.defer(std::vector<EventId>{2}, [held](std::int32_t) {});
    EXPECT_EQ(held.use_count(), 3);
    std::vector<EventGraph::Ready> ready;
    graph.complete(1, 0, ready);
    ready.clear();
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

// Command n waits for n - 1. The caller's loop is all the stack it takes.
TEST_F(EventGraphTest, ChainOfAMillion) {
  constexpr EventId kLength = 1'000'000;
  EventGraph graph;
  std::vector<EventId> ended;
  ended.reserve(kLength);
  graph.expect(1);
  for (EventId id = 2; id <= kLength; ++id) {
    graph.expect(id);
    const EventId previous = id - 1;
    graph.defer({&previous, 1}, [&ended, id](std::int32_t) { ended.push_back(id); });
  }
  ASSERT_EQ(graph.deferred_actions(), kLength - 1);

  std::vector<EventGraph::Ready> ready;
  graph.complete(1, kOutOfResources, ready);
  while (!ready.empty()) {
    ASSERT_EQ(ready.size(), 1u);
    EventGraph::Ready next = std::move(ready.back());
    ready.clear();
    next.action(next.status);
    ASSERT_EQ(next.status, kOutOfResources);
    graph.complete(ended.back(), next.status, ready);
  }
  EXPECT_EQ(ended.size(), kLength - 1);
  EXPECT_EQ(graph.status(kLength), kOutOfResources);
  EXPECT_EQ(graph.pending_events(), 0u);
  EXPECT_EQ(graph.deferred_actions(), 0u);
}

// Wide in both directions: quadratic handling of edges would not end.
TEST_F(EventGraphTest, FanInAndFanOut) {
  constexpr EventId kWidth = 200'000;
  EventGraph graph;
  std::vector<EventId> all;
  for (EventId id = 1; id <= kWidth; ++id) {
    graph.expect(id);
    all.push_back(id);
  }
  std::size_t runs = 0;
  graph.defer(all, [&](std::int32_t) { ++runs; });
  const EventId last = kWidth;
  for (EventId i = 0; i < kWidth; ++i) graph.defer({&last, 1}, [&](std::int32_t) { ++runs; });

  std::vector<EventGraph::Ready> ready;
  for (EventId id = 1; id < kWidth; ++id) graph.complete(id, 0, ready);
  EXPECT_TRUE(ready.empty());
  graph.complete(last, 0, ready);
  EXPECT_EQ(ready.size(), kWidth + 1);
  for (EventGraph::Ready& each : ready) each.action(each.status);
  EXPECT_EQ(runs, kWidth + 1);
}

}  // namespace
}  // namespace remotecl
