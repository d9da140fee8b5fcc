#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "event_graph_fixture.h"
#include "runtime/graph/event_graph.h"

namespace remotecl {
namespace {

// The same rules in the plainest possible form, with a search where the graph has an index.
class Model {
 public:
  bool expect(EventId id) { return events_.emplace(id, Event{}).second; }
  bool known(EventId id) const { return events_.contains(id); }
  bool pending(EventId id) const { return known(id) && !events_.at(id).status; }
  std::optional<std::int32_t> status(EventId id) const { return known(id) ? events_.at(id).status : std::nullopt; }

  std::int32_t failure(const std::vector<EventId>& dependencies) const {
    for (const auto& [id, status] : ended_) {
      if (status < 0 && known(id) && std::ranges::count(dependencies, id)) return status;
    }
    return 0;
  }

  bool defer(int name, const std::vector<EventId>& dependencies) {
    Waiting waiting{name, {}, failure(dependencies)};
    std::ranges::copy_if(dependencies, std::inserter(waiting.on, waiting.on.end()),
                         [&](EventId id) { return pending(id); });
    if (waiting.on.empty()) return false;
    waiting_.push_back(waiting);
    return true;
  }

  bool complete(EventId id, std::int32_t status, Runs& runs) {
    if (!pending(id)) return false;
    end(id, status);
    for (Waiting& waiting : waiting_) {
      if (waiting.on.erase(id) && waiting.status == 0) waiting.status = status;
      if (waiting.on.empty()) runs.emplace_back(waiting.name, waiting.status);
    }
    std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.on.empty(); });
    return true;
  }

  void forget(EventId id) {
    if (!known(id)) return;
    events_.at(id).forgotten = true;
    if (!pending(id)) drop(id);
  }

  void fail_all(std::int32_t status, Runs& runs) {
    for (const Waiting& waiting : waiting_) runs.emplace_back(waiting.name, status);
    waiting_.clear();
    for (EventId id : pending_ids()) end(id, status);
  }

  std::vector<EventId> pending_ids() const {
    std::vector<EventId> ids;
    for (const auto& [id, event] : events_) {
      if (!event.status) ids.push_back(id);
    }
    return ids;
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Event {
    std::optional<std::int32_t> status;
    bool forgotten = false;
  };
  struct Waiting {
    int name;
    std::set<EventId> on;
    std::int32_t status;
  };

  void end(EventId id, std::int32_t status) {
    events_.at(id).status = status;
    ended_.emplace_back(id, status);
    if (events_.at(id).forgotten) drop(id);
  }
  void drop(EventId id) {
    events_.erase(id);
    std::erase_if(ended_, [id](const auto& each) { return each.first == id; });
  }

  std::map<EventId, Event> events_;
  std::vector<std::pair<EventId, std::int32_t>> ended_;  // in order, without the dropped
  std::vector<Waiting> waiting_;                         // in order of deferral
};

class RandomisedEventGraphTest : public EventGraphTest {
 protected:
  static constexpr EventId kIds = 14;

  std::uint64_t number(std::uint64_t below) { return random_() % below; }
  EventId any_id() { return 1 + number(kIds); }
  std::int32_t any_status() { return number(3) == 0 ? -1 - static_cast<std::int32_t>(number(60)) : 0; }
  std::vector<EventId> any_ids() {
    std::vector<EventId> ids(number(6));
    for (EventId& id : ids) id = any_id();
    return ids;
  }

  void step(int name) {
    Runs expected;
    const std::uint64_t kind = number(200);
    const EventId id = any_id();
    if (kind < 60) {
      EXPECT_EQ(graph_.expect(id), model_.expect(id));
    } else if (kind < 115) {
      const std::vector<EventId> ids = any_ids();
      EXPECT_EQ(failure(ids), model_.failure(ids));
      EXPECT_EQ(defer(name, ids), model_.defer(name, ids));
    } else if (kind < 165) {
      const std::int32_t status = any_status();
      EXPECT_EQ(complete(id, status), model_.complete(id, status, expected));
    } else if (kind < 199) {
      graph_.forget(id);
      model_.forget(id);
    } else {
      const std::int32_t status = -1 - static_cast<std::int32_t>(number(60));
      fail_all(status);
      model_.fail_all(status, expected);
    }
    EXPECT_EQ(take_runs(), expected);
    compare();
  }

  void compare() {
    EXPECT_EQ(graph_.pending_events(), model_.pending_ids().size());
    EXPECT_EQ(graph_.deferred_actions(), model_.waiting());
    for (EventId id = 1; id <= kIds; ++id) {
      EXPECT_EQ(graph_.known(id), model_.known(id)) << id;
      EXPECT_EQ(graph_.pending(id), model_.pending(id)) << id;
      EXPECT_EQ(graph_.status(id), model_.status(id)) << id;
    }
  }

  std::mt19937_64 random_;
  Model model_;
};

// REMOTECL_TEST_SEED repeats a run.
std::uint64_t test_seed() {
  const char* given = std::getenv("REMOTECL_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

TEST_F(RandomisedEventGraphTest, AgreesWithTheModel) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("REMOTECL_TEST_SEED=" + std::to_string(seed));
  std::cout << "REMOTECL_TEST_SEED=" << seed << std::endl;
  random_.seed(seed);
  for (int i = 0; i < 100'000 && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step(i);
  }
  // Nothing is left behind: when every event ends, every action has run.
  Runs expected;
  for (EventId id : model_.pending_ids()) {
    complete(id);
    model_.complete(id, 0, expected);
  }
  EXPECT_EQ(take_runs(), expected);
  EXPECT_EQ(graph_.deferred_actions(), 0u);
}

}  // namespace
}  // namespace remotecl
