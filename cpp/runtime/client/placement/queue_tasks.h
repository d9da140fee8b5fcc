#pragma once

#include <deque>
#include <vector>

#include "runtime/client/objects/event.h"
#include "runtime/schedule/ids.h"

namespace remotecl {

// The tasks of one queue on the automatic device that were placed and are not known to have ended. What has ended shows
// in what the session knows anyway, so this costs no message. Guarded by the placement's lock.
class QueueTasks {
 public:
  // `queue`: the member that has it, which outlives this object's entry. `event`: of a command of an out-of-order
  // queue; else its place in the queue says enough.
  void add(const CommandQueue& queue, std::uint64_t sequence, Event* event, schedule::Ticket ticket);
  // Calls f(ticket, failed) for those at the front that have ended. Events are moved to `released`, because the last
  // reference to one sends a message.
  template <class F>
  void take_ended(std::vector<Ref<Event>>& released, F&& f) {
    for (; !tasks_.empty() && tasks_.front().has_ended(); tasks_.pop_front()) take_front(released, f);
  }
  // All, because nobody will ask again.
  template <class F>
  void take_all(std::vector<Ref<Event>>& released, F&& f) {
    for (; !tasks_.empty(); tasks_.pop_front()) take_front(released, f);
  }
  bool is_full() const { return tasks_.size() >= kTasksMax; }

  // Of an in-order queue: the next one runs after this one.
  schedule::Ticket last() const { return last_; }
  void set_last(schedule::Ticket ticket) { last_ = ticket; }

 private:
  // A program that never waits learns of no ends: the oldest are taken to have ended.
  static constexpr std::size_t kTasksMax = 4096;

  struct Task {
    const CommandQueue* queue;
    std::uint64_t sequence;
    Ref<Event> event;
    schedule::Ticket ticket;

    bool has_ended() const {
      return queue->ended_sequence() >= sequence || (event && event->ended()) || queue->session().lost();
    }
  };

  template <class F>
  void take_front(std::vector<Ref<Event>>& released, F& f) {
    Task& task = tasks_.front();
    f(task.ticket, task.queue->session().lost());
    if (task.event) released.push_back(std::move(task.event));
  }

  std::deque<Task> tasks_;
  schedule::Ticket last_ = 0;
};

}  // namespace remotecl
