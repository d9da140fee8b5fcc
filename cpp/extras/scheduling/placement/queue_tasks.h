#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "extras/scheduling/schedule/ids.h"
#include "runtime/base/thread_annotations.h"
#include "runtime/client/objects/event.h"

namespace remotecl {

// Stands for the mutex of every Placement in clang's checks, as kMemoryMutex does for those of contexts.
struct REMOTECL_TSA(capability("mutex")) PlacementMutex {};
inline constexpr PlacementMutex kPlacementMutex;

// The tasks of one queue on the automatic device that were placed and are not known to have ended. Their ends are found
// in what the session knows anyway, so this costs no message.
class QueueTasks {
 public:
  struct Ended {
    schedule::Ticket ticket = 0;
    bool has_failed = false;
    bool is_sample = false;  // a report with its times follows, or has come
    // By the device's clock, where a report has said so; else 0.
    std::uint64_t begin_ns = 0, end_ns = 0;
  };

  // `queue`: the member that has the task, which outlives the task's entry here. `event`: null if it has none. For an
  // in-order queue only a sample's event is kept, because the event's report has the times, too, and the sample's own
  // report may wait on its server for another message. For other tasks the place in the queue says enough.
  void add(const CommandQueue& queue, std::uint64_t sequence, Event* event, schedule::Ticket ticket, bool is_sample)
      REQUIRES(kPlacementMutex);
  // Moves the tasks that have ended and have none before them on their member to `ended`, and their events to
  // `released`, because releasing the last reference to one sends a message.
  void take_ended(std::vector<Ended>& ended, std::vector<Ref<Event>>& released) REQUIRES(kPlacementMutex);
  // The same for all tasks, ended or not, because nobody will ask again.
  void take_all(std::vector<Ended>& ended, std::vector<Ref<Event>>& released) REQUIRES(kPlacementMutex);
  bool is_full() const REQUIRES(kPlacementMutex) { return count_ >= kTasksMax; }

  // In an in-order queue: the task that the next one runs after.
  schedule::Ticket last() const REQUIRES(kPlacementMutex) { return last_; }
  void set_last(schedule::Ticket ticket) REQUIRES(kPlacementMutex) { last_ = ticket; }

 private:
  // A program that never waits learns of no ends, so from this many on all tasks are taken to have ended.
  static constexpr std::size_t kTasksMax = 4096;
  // The most members that are looked at for each task, in turn.
  static constexpr std::size_t kLooksMax = 32;

  struct Task {
    std::uint64_t sequence;
    Ref<Event> event;
    schedule::Ticket ticket;
    bool is_sample;

    bool has_ended(const CommandQueue& queue) const;
  };
  struct Member {
    const CommandQueue* queue;
    std::deque<Task> tasks;
  };

  Ended take_front(Member& member, std::vector<Ref<Event>>& released) REQUIRES(kPlacementMutex);

  std::vector<Member> members_ GUARDED_BY(kPlacementMutex);  // those that have had tasks
  std::size_t next_ GUARDED_BY(kPlacementMutex) = 0;
  std::size_t count_ GUARDED_BY(kPlacementMutex) = 0;
  schedule::Ticket last_ GUARDED_BY(kPlacementMutex) = 0;
};

}  // namespace remotecl
