#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "extras/scheduling/schedule/device_queue.h"

namespace remotecl::schedule {

// A device as its server runs it: one task at a time, to its end; of the users who have tasks that are ready, the one
// goes next whose tasks have taken least time, divided by its weight. A user who returns from a pause starts level with
// the others (runtime/sharing).
class SimulatedDevice {
 public:
  struct Work {
    std::uint32_t task = 0;
    std::uint32_t user = 0;
    double weight = 1;
    Seconds seconds = 0;
  };

  // The user has given it the task; it need not be ready.
  void enqueue(const Work& work);
  void make_ready(const Work& work);
  bool is_busy() const { return is_busy_; }
  // The next task, which runs from now on; nothing if none is ready.
  std::optional<Work> begin();
  void end(const Work& work);

  // What the server reports to this user of all others. A running task counts until it has ended.
  OthersLoad others(std::uint32_t user) const;

 private:
  struct User {
    double weight = 1;
    double virtual_time = 0;
    Seconds queued = 0;
    std::uint32_t tasks = 0;
    std::deque<Work> ready;
  };

  std::map<std::uint32_t, User> users_;  // those who have something enqueued
  Seconds queued_ = 0;
  double weight_ = 0;
  double virtual_now_ = 0;
  bool is_busy_ = false;
};

}  // namespace remotecl::schedule
