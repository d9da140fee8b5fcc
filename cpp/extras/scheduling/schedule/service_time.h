#pragma once

#include "extras/scheduling/schedule/device_queue.h"

namespace remotecl::schedule {

// When a task ran, by its device's clock.
struct RunTimes {
  Time begin = 0, end = 0;
};

// How much of one device's time a task takes, learned from when the tasks of this process ended there.
//
// The time from a task's begin to its end is too long where tasks overlap: a driver may begin several that then wait
// for each other, as PoCL's threads do, which look for the next kernel when they find nothing left to do in the present
// one. The tenth task in the queue of such a device seems to take ten times as long. So while this process always has a
// task waiting, the time from one end to the next is shared by the tasks that ended in it, without the time in which
// the device served others.
class ServiceTime {
 public:
  struct Ended {
    DeviceQueue::Position position = 0;
    Seconds expected = 0;
    Time placed = 0;   // by the caller's clock
    double share = 1;  // the part of the device's time that is ours
    RunTimes run;
  };

  Seconds seconds(const Ended& task, Time end);
  // When it has ended by the caller's clock, or a little later, since messages take different times.
  Time end(const RunTimes& run, Time now);

 private:
  // By how much the two clocks may run apart.
  static constexpr double kDrift = 50e-6;

  // The task that ended last, by both clocks.
  bool is_known_ = false;
  DeviceQueue::Position position_ = 0;
  Time run_end_ = 0, end_ = 0;
  // From the device's clock to the caller's, with the time of the quickest message.
  bool has_offset_ = false;
  Seconds offset_ = 0;
  Time offset_at_ = 0;
};

}  // namespace remotecl::schedule
