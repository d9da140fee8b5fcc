#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// What a server reports of a device's other users.
struct OthersLoad {
  Seconds queued = 0;  // how long the device needs for what they have enqueued
  double weight = 0;   // the sum of the weights of those who have something enqueued
  double own = 0;      // our weight there; 0: nobody has said so
};

// What waits on one device: this process's own tasks, as expected, and others' work, as reported.
//
// A device that has several users serves them by weight (runtime/sharing), so others' work delays ours by what their
// weight lets them have meanwhile, and never by more than there is: the generalised processor sharing of Parekh and
// Gallager (1993). A short task of ours is therefore not as late as everything that others have enqueued, and while
// they have work ours gets done at the rate that our weight gives us.
class DeviceQueue {
 public:
  // The position of a task: the sum of the expected times of our tasks on the device, up to and including this one. The
  // device has done our work up to some position, which is known from the ends of tasks.
  using Position = Seconds;

  // `weight`: ours.
  explicit DeviceQueue(double weight = 1) : weight_(weight) {}

  void report(const OthersLoad& others, Time now);
  const OthersLoad& others() const { return others_; }
  std::uint32_t tasks() const { return tasks_; }
  // The part of the device that is ours while others have work.
  double share() const { return share_; }

  // How long our own tasks here still take if nobody else uses the device.
  Seconds backlog(Time now) const;
  // When a new task that needs no data could begin.
  Time free_at(Time now) const { return end(now, now, 0); }
  // When a new task would end if it takes `seconds` and cannot begin before `earliest`.
  Time end(Time now, Time earliest, Seconds seconds) const;

  // Such a task was placed here. `is_watched`: its end will be reported at once, so it counts as running until then.
  // One task is watched at a time. The others are taken to end when they are expected to.
  Position push(Time now, Time earliest, Seconds seconds, bool is_watched);
  bool is_watching() const { return is_watching_; }
  // When the task at this position is expected to end.
  Time expected_end(Position position, Time now) const;
  // That task has ended, and so, as far as is known, have those before it.
  void pop(Position position, Time end);
  // A task that was expected to take so long will not run.
  void drop(Seconds seconds);
  // A task's position changes, because that task or those before it will take another time than was expected.
  void move(Position from, Position to) {
    if (watched_ == from) watched_ = to;
  }
  // All tasks together will take this much longer.
  void move_last(Seconds by) {
    pushed_ += by;
    changed();
  }

 private:
  // What remains of our work up to a position, if it is done as expected.
  Seconds left(Position position, Time now) const { return position - done_ - share_ * (now - since_); }
  // Call it after each change of what backlog() is computed from.
  void changed();

  // For backlog() and end().
  Seconds ahead_ = 0;   // what would be left at the time 0 of the work up to the watched task, or of all work
  Seconds behind_ = 0;  // the work after the watched task
  double share_ = 1;    // the part of the device that is ours while others have work
  OthersLoad others_;
  Time reported_ = 0;
  double others_ratio_ = 0;  // of their weight to ours
  bool is_watching_ = false;

  double weight_;
  std::uint32_t tasks_ = 0;
  Position pushed_ = 0;
  Position done_ = 0;   // at the time `since_`, as expected
  Position known_ = 0;  // the furthest end that is known
  Time since_ = 0;
  Position watched_ = 0;
};

// Inline, because decisions ask them for each device.
inline Seconds DeviceQueue::backlog(Time now) const {
  const Seconds left = ahead_ - share_ * now;
  // A watched task that is late is expected to need as long again as it is late, and the work behind it waits.
  return is_watching_ ? std::abs(left) + behind_ : std::max(0.0, left);
}

inline Time DeviceQueue::end(Time now, Time earliest, Seconds seconds) const {
  const Seconds ours = backlog(now);
  const Time begin = std::max(now + ours, earliest);
  if (others_.queued <= 0) return begin + seconds;
  // Others have worked since the report, and while we wait for data only they use the device.
  const Seconds queued = std::max(0.0, others_.queued - (begin - ours - reported_));
  return begin + seconds + std::min(queued, (ours + seconds) * others_ratio_);
}

}  // namespace remotecl::schedule
