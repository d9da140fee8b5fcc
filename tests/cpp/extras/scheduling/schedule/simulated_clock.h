#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// What is to happen when, in a simulation of several machines. Actions of one moment run in the order in which they
// were given.
class SimulatedClock {
 public:
  using Action = std::function<void()>;

  Time now() const { return now_; }
  void at(Time time, Action action) { actions_.push({time, ++number_, std::move(action)}); }
  void after(Seconds seconds, Action action) { at(now_ + seconds, std::move(action)); }
  // Until `is_done`, or nothing is left.
  void run(const std::function<bool()>& is_done) {
    while (!actions_.empty() && !is_done()) {
      const Entry next = actions_.top();
      actions_.pop();
      now_ = next.time;
      next.action();
    }
  }

 private:
  struct Entry {
    Time time;
    std::uint64_t number;
    Action action;

    bool operator<(const Entry& other) const { return time != other.time ? time > other.time : number > other.number; }
  };

  std::priority_queue<Entry> actions_;
  std::uint64_t number_ = 0;
  Time now_ = 0;
};

}  // namespace remotecl::schedule
