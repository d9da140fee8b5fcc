#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// What a server reports of a device's other users.
struct OthersLoad {
  Seconds queued = 0;  // how long the device needs for what they have enqueued
  double weight = 0;   // the sum of the weights of those who have something enqueued
};

// What waits on one device: this process's own tasks, as expected, and others' work, as reported.
//
// A device that has several users serves them by weight (runtime/sharing), so others' work delays ours by what their
// weight lets them have meanwhile, and never by more than there is: the generalised processor sharing of Parekh and
// Gallager (1993). A short task of ours is therefore not as late as everything that others have enqueued.
class DeviceQueue {
 public:
  // When tasks of this process that were placed here are expected to end; relative to `late`, so that one report of a
  // delay moves them all.
  struct Plan {
    Time alone = 0;   // if nobody else used the device
    Time shared = 0;  // with others as reported
  };

  void report(const OthersLoad& others, Time now);
  const OthersLoad& others() const { return others_; }
  std::uint32_t tasks() const { return tasks_; }

  // How long our own tasks here still take if nobody else uses the device.
  Seconds backlog(Time now) const;
  // When a new task could begin that needs no data.
  Time free_at(Time now, double weight) const { return end(now, now, 0, weight); }
  // When a new task would end that takes `seconds` and cannot begin before `earliest`.
  Time end(Time now, Time earliest, Seconds seconds, double weight) const;

  // Such a task was placed here; `end` is what end() has said.
  Plan push(Time now, Time earliest, Seconds seconds, Time end);
  // When a task that was placed here is expected to end by now.
  Time expected_end(const Plan& plan, Time now) const;
  // It has ended. What follows it is as early or as late as it was.
  void pop(const Plan& plan, Time now);
  // It will not run.
  void drop(Seconds seconds, Time now);

 private:
  OthersLoad others_at(Time now) const;

  Time end_ = 0;      // of the last task of ours, as planned
  Seconds late_ = 0;  // how much later than planned the task ended that ended last
  Time reported_ = 0;
  OthersLoad others_;
  std::uint32_t tasks_ = 0;
};

// Inline, because decisions ask them for each device.
inline OthersLoad DeviceQueue::others_at(Time now) const {
  return {std::max(0.0, others_.queued - (now - reported_)), others_.weight};
}

inline Seconds DeviceQueue::backlog(Time now) const {
  if (tasks_ == 0) return 0;
  // What should have ended needs, for all that is known, as long again as it is late.
  return std::abs(end_ + late_ - now);
}

inline Time DeviceQueue::end(Time now, Time earliest, Seconds seconds, double weight) const {
  const Seconds ours = backlog(now);
  const Time begin = std::max(now + ours, earliest);
  if (others_.queued <= 0) return begin + seconds;
  // While we wait for data only others use the device.
  const OthersLoad others = others_at(begin - ours);
  return begin + seconds + std::min(others.queued, (ours + seconds) * others.weight / weight);
}

}  // namespace remotecl::schedule
