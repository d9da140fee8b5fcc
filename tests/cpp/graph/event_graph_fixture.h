#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "runtime/graph/event_graph.h"

namespace remotecl {

inline constexpr std::int32_t kOutOfResources = -5;
inline constexpr std::int32_t kDependencyFailed = -14;

// What ran, as (name of the action, status it got), in order.
using Runs = std::vector<std::pair<int, std::int32_t>>;

class EventGraphTest : public ::testing::Test {
 protected:
  void expect(std::initializer_list<EventId> ids) {
    for (EventId id : ids) ASSERT_TRUE(graph_.expect(id));
  }

  bool defer(int name, const std::vector<EventId>& dependencies) {
    return graph_.defer(dependencies, [this, name](std::int32_t status) { runs_.emplace_back(name, status); });
  }

  bool complete(EventId id, std::int32_t status = 0) {
    const bool known = graph_.complete(id, status, ready_);
    run_ready();
    return known;
  }

  void fail_all(std::int32_t status) {
    graph_.fail_all(status, ready_);
    run_ready();
  }

  std::int32_t failure(const std::vector<EventId>& dependencies) const { return graph_.failure(dependencies); }

  // What ran since the last call.
  Runs take_runs() { return std::exchange(runs_, {}); }

  EventGraph graph_;

 private:
  void run_ready() {
    for (EventGraph::Ready& ready : ready_) ready.action(ready.status);
    ready_.clear();
  }

  std::vector<EventGraph::Ready> ready_;
  Runs runs_;
};

}  // namespace remotecl
