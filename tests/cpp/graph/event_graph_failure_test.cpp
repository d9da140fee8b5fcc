// Events that fail, are forgotten, or end all at once.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "event_graph_fixture.h"

namespace remotecl {
namespace {

TEST_F(EventGraphTest, DiamondWithOneFailedSide) {
  expect({1, 2, 3, 4});
  defer(2, {1});
  defer(3, {1});
  defer(4, {2, 3});
  complete(1);
  take_runs();
  complete(2, kOutOfResources);
  EXPECT_EQ(take_runs(), Runs{}) << "a failure does not shorten the wait";
  complete(3);
  EXPECT_EQ(take_runs(), (Runs{{4, kOutOfResources}}));
}

TEST_F(EventGraphTest, FirstFailureInOrderOfCompletion) {
  expect({1, 2, 3});
  defer(10, {1, 2, 3});
  complete(3, -3);
  complete(1, -1);
  complete(2, -2);
  EXPECT_EQ(take_runs(), (Runs{{10, -3}}));
  EXPECT_EQ(failure({1, 2, 3}), -3);
  EXPECT_EQ(failure({2, 1}), -1);
  EXPECT_EQ(failure({2}), -2);
  EXPECT_EQ(failure({}), 0);
}

TEST_F(EventGraphTest, FailureBeforeDeferralComesFirst) {
  expect({1, 2, 3, 4});
  complete(2, -2);
  complete(1, -1);
  defer(10, {4, 1, 2, 3});
  EXPECT_EQ(failure({4, 1, 2, 3}), -2) << "pending ones have not failed";
  complete(3, -3);
  complete(4);
  EXPECT_EQ(take_runs(), (Runs{{10, -2}}));
}

TEST_F(EventGraphTest, FailureOfOthersIsNotInherited) {
  expect({1, 2});
  defer(10, {1});
  defer(11, {2});
  complete(1, kOutOfResources);
  complete(2);
  EXPECT_EQ(take_runs(), (Runs{{10, kOutOfResources}, {11, 0}}));
}

TEST_F(EventGraphTest, ForgettingAnEndedEventMakesItUnknown) {
  expect({1});
  complete(1, kOutOfResources);
  graph_.forget(1);
  EXPECT_FALSE(graph_.known(1));
  EXPECT_EQ(graph_.status(1), std::nullopt);
  EXPECT_EQ(failure({1}), 0);
  EXPECT_FALSE(defer(10, {1}));
  EXPECT_FALSE(complete(1));
}

TEST_F(EventGraphTest, ForgettingAPendingEventDropsItAtItsEnd) {
  expect({1});
  defer(10, {1});
  graph_.forget(1);
  graph_.forget(1);
  EXPECT_TRUE(graph_.pending(1));
  EXPECT_TRUE(graph_.known(1));
  EXPECT_FALSE(graph_.expect(1));
  EXPECT_EQ(graph_.pending_events(), 1u);
  EXPECT_TRUE(defer(11, {1})) << "it is still something to wait for";

  EXPECT_TRUE(complete(1, kOutOfResources));
  EXPECT_EQ(take_runs(), (Runs{{10, kOutOfResources}, {11, kOutOfResources}}));
  EXPECT_FALSE(graph_.known(1));
  EXPECT_EQ(graph_.status(1), std::nullopt);
  EXPECT_EQ(graph_.pending_events(), 0u);
  EXPECT_FALSE(complete(1));
}

TEST_F(EventGraphTest, ForgettingAnUnknownEventDoesNothing) {
  graph_.forget(1);
  EXPECT_TRUE(graph_.expect(1));
  complete(1);
  EXPECT_TRUE(graph_.known(1));
}

TEST_F(EventGraphTest, ForgettingAFailureDoesNotTakeItFromThoseWhoWait) {
  expect({1, 2});
  complete(1, kOutOfResources);
  defer(10, {1, 2});
  graph_.forget(1);
  complete(2);
  EXPECT_EQ(take_runs(), (Runs{{10, kOutOfResources}}));
}

TEST_F(EventGraphTest, FailAllEndsEverything) {
  expect({1, 2, 3, 4});
  complete(4);
  defer(10, {2});
  defer(11, {1, 3});
  defer(12, {1});
  graph_.forget(3);
  complete(1, kOutOfResources);
  EXPECT_EQ(take_runs(), (Runs{{12, kOutOfResources}}));

  fail_all(kDependencyFailed);
  EXPECT_EQ(take_runs(), (Runs{{10, kDependencyFailed}, {11, kDependencyFailed}}));
  EXPECT_EQ(graph_.pending_events(), 0u);
  EXPECT_EQ(graph_.deferred_actions(), 0u);
  EXPECT_EQ(graph_.status(1), kOutOfResources) << "had ended before";
  EXPECT_EQ(graph_.status(2), kDependencyFailed);
  EXPECT_FALSE(graph_.known(3)) << "was forgotten while pending";
  EXPECT_EQ(graph_.status(4), 0);
  EXPECT_FALSE(complete(2));
}

TEST_F(EventGraphTest, FailAllAppendsToReady) {
  expect({1});
  graph_.defer(std::vector<EventId>{1}, [](std::int32_t) {});
  std::vector<EventGraph::Ready> ready;
  ready.push_back({[](std::int32_t) {}, -99});
  graph_.fail_all(kDependencyFailed, ready);
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].status, -99);
  EXPECT_EQ(ready[1].status, kDependencyFailed);
}

TEST_F(EventGraphTest, FailAllOfAnEmptyGraph) {
  fail_all(kDependencyFailed);
  EXPECT_EQ(take_runs(), Runs{});
  EXPECT_EQ(graph_.pending_events(), 0u);
}

TEST_F(EventGraphTest, LivesOnAfterFailAll) {
  expect({1});
  complete(1, -1);
  expect({2});
  fail_all(-2);
  expect({3});
  EXPECT_TRUE(defer(10, {3}));
  complete(3, -3);
  EXPECT_EQ(take_runs(), (Runs{{10, -3}}));
  EXPECT_EQ(failure({3, 2}), -2);
  EXPECT_EQ(failure({3, 2, 1}), -1);
}

}  // namespace
}  // namespace remotecl
