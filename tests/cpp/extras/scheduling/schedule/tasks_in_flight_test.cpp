#include "extras/scheduling/schedule/tasks_in_flight.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace remotecl::schedule {
namespace {

TEST(TasksInFlightTest, ATicketFindsItsTaskAndNoOther) {
  TasksInFlight tasks(2);
  std::map<Ticket, double> live;
  std::set<Ticket> gone = {0, 1, UINT64_MAX};
  std::mt19937 random(3);
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || random() % 5 < (live.size() < 20 ? 3 : 2)) {
      TaskInFlight task;
      task.size = step;
      const Ticket ticket = tasks.add(task);
      ASSERT_NE(ticket, 0u);
      ASSERT_FALSE(gone.contains(ticket)) << "it was given before";
      ASSERT_TRUE(live.emplace(ticket, step).second);
    } else {
      const auto at = std::next(live.begin(), random() % live.size());
      tasks.remove(at->first);
      tasks.remove(at->first);
      gone.insert(at->first);
      live.erase(at);
    }
    ASSERT_EQ(tasks.size(), live.size());
  }
  for (const auto& [ticket, size] : live) {
    ASSERT_TRUE(tasks.find(ticket));
    EXPECT_EQ(tasks.find(ticket)->size, size);
  }
  for (const Ticket ticket : gone) EXPECT_FALSE(tasks.find(ticket));
}

}  // namespace
}  // namespace remotecl::schedule
