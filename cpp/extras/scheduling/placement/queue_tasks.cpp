#include "extras/scheduling/placement/queue_tasks.h"

#include <algorithm>

namespace remotecl {

bool QueueTasks::Task::has_ended(const CommandQueue& queue) const {
  return queue.ended_sequence() >= sequence || (event && event->ended()) || queue.session().lost();
}

void QueueTasks::add(const CommandQueue& queue, std::uint64_t sequence, Event* event, schedule::Ticket ticket,
                     bool is_sample) {
  auto at = std::ranges::find(members_, &queue, &Member::queue);
  if (at == members_.end()) at = members_.insert(at, Member{&queue, {}});
  const bool is_kept = is_sample || !queue.in_order();
  at->tasks.push_back({sequence, Ref<Event>(is_kept ? event : nullptr), ticket, is_sample});
  ++count_;
}

void QueueTasks::take_ended(std::vector<Ended>& ended, std::vector<Ref<Event>>& released) {
  for (std::size_t looks = std::min(members_.size(), kLooksMax); looks > 0; --looks) {
    next_ = next_ + 1 < members_.size() ? next_ + 1 : 0;
    Member& member = members_[next_];
    while (!member.tasks.empty() && member.tasks.front().has_ended(*member.queue)) {
      ended.push_back(take_front(member, released));
    }
  }
}

void QueueTasks::take_all(std::vector<Ended>& ended, std::vector<Ref<Event>>& released) {
  for (Member& member : members_) {
    while (!member.tasks.empty()) ended.push_back(take_front(member, released));
  }
  members_.clear();
}

QueueTasks::Ended QueueTasks::take_front(Member& member, std::vector<Ref<Event>>& released) {
  Task task = std::move(member.tasks.front());
  member.tasks.pop_front();
  --count_;
  Ended ended{task.ticket, member.queue->session().lost(), task.is_sample};
  if (!task.event) return ended;
  if (const EventEnd::Profile* times = task.event->device_times()) {
    ended.begin_ns = (*times)[2];
    ended.end_ns = (*times)[3];
  }
  released.push_back(std::move(task.event));
  return ended;
}

}  // namespace remotecl
