#pragma once

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

  // Such a task was placed here.
  Plan push(Time now, Time earliest, Seconds seconds, double weight);
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

}  // namespace remotecl::schedule
