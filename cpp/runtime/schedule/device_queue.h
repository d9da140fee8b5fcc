#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/schedule/ids.h"
#include "runtime/schedule/load_bounds.h"

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
  // Where a task stands: the sum of what our tasks on the device were expected to take, up to and including it. The
  // device has done our work up to some position; what is known of that comes with the ends of tasks.
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
  // When a new task could begin that needs no data.
  Time free_at(Time now) const { return end(now, now, 0); }
  // Of end(), until the next change. Our backlog passes no faster than time, so what it was is a bound later, too.
  LoadBound bound() const;
  // When a new task would end that takes `seconds` and cannot begin before `earliest`.
  Time end(Time now, Time earliest, Seconds seconds) const;

  // Such a task was placed here. `is_watched`: its end will be reported at once, so until then it has not ended. One is
  // watched at a time. What is not watched is taken to end when it is expected to.
  Position push(Time now, Time earliest, Seconds seconds, bool is_watched);
  bool is_watching() const { return is_watching_; }
  // When the task that stands there is expected to end.
  Time expected_end(Position position, Time now) const;
  // It has ended, and so have, for all that is known, those before it.
  void pop(Position position, Time end);
  // It will not run.
  void drop(Seconds seconds);
  // A task stands elsewhere, because those before it or itself will take another time than was expected.
  void move(Position from, Position to) {
    if (watched_ == from) watched_ = to;
  }
  // All of them together will.
  void move_last(Seconds by) {
    pushed_ += by;
    changed();
  }

 private:
  // What remains of our work up to a position, in which it is done as expected.
  Seconds left(Position position, Time now) const { return position - done_ - share_ * (now - since_); }
  // To be called after each change of what backlog() is made of.
  void changed();

  // For backlog() and end().
  Seconds ahead_ = 0;   // what would be left at the time 0 of the work up to the watched task, or of all
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
  // What should have ended needs, for all that is known, as long again as it is late; and what is behind it waits.
  return is_watching_ ? std::abs(left) + behind_ : std::max(0.0, left);
}

inline Time DeviceQueue::end(Time now, Time earliest, Seconds seconds) const {
  const Seconds ours = backlog(now);
  const Time begin = std::max(now + ours, earliest);
  if (others_.queued <= 0) return begin + seconds;
  // They go on since the report, and while we wait for data only they use the device.
  const Seconds queued = std::max(0.0, others_.queued - (begin - ours - reported_));
  return begin + seconds + std::min(queued, (ours + seconds) * others_ratio_);
}

}  // namespace remotecl::schedule
