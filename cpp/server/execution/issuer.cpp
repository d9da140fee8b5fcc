#include "server/execution/issuer.h"

#include <algorithm>

#include "server/completion/event_status.h"
#include "server/util/log.h"

namespace remotecl::server {

void Issuer::collect(Queue& queue, const Array<EventId>& wait_list, std::vector<Ref<Event>>* kept) {
  for (std::size_t i = 0; i < wait_list.size(); ++i) {
    Event* event = events_.find(wait_list[i]);
    if (event == nullptr) continue;  // the client has released it after its end
    waits_for_itself_ = waits_for_itself_ || event->is_new();
    depend(queue, *event);
    if (kept != nullptr) kept->push_back(Ref<Event>(event));
  }
}

void Issuer::collect_tail(Queue& queue) {
  if (events_.graph().pending(queue.tail)) {
    graph_waits_.push_back(queue.tail);
  } else {
    queue.tail = 0;
  }
}

void Issuer::collect_held(Queue& queue) {
  std::erase_if(queue.held, [this](EventId id) REQUIRES(session_lock) { return !events_.graph().pending(id); });
  // Many become one, so that of several commands that wait for all only the first has to wait for each.
  constexpr std::size_t kSeparateMax = 16;
  if (queue.held.size() > kSeparateMax) {
    const EventId all = events_.begin_internal();
    const EventGraph::Action end = [this, all](std::int32_t) REQUIRES(session_lock) { events_.end_internal(all); };
    events_.graph().defer(queue.held, end);
    queue.held = {all};
  }
  graph_waits_.insert(graph_waits_.end(), queue.held.begin(), queue.held.end());
}

void Issuer::depend(Queue& queue, Event& event) {
  const bool same_device = event.device == &queue.device();
  const bool implied = queue.in_order() && event.queue == queue.id();
  switch (event.state) {
    case Event::State::kEnded:
      dependency_failed_ = dependency_failed_ || event.status < 0;
      return;
    case Event::State::kNative:
      // The order alone would let the command run after one that has not begun.
      if (implied && !event.may_not_begin) return;
      if (same_device) {
        native_waits_.push_back(event.native.get());
        return;
      }
      break;
    case Event::State::kHeld:
      if (implied) return;  // the queue's tail covers it
      if (same_device) {
        graph_waits_.push_back(event.issued);
        return;
      }
      break;
    case Event::State::kExpected:
      break;
  }
  events_.track(event);
  graph_waits_.push_back(event.id);
}

void Issuer::keep_order(Queue& queue) {
  if (!queue.in_order() || queue.native() == nullptr) return;
  std::erase_if(native_waits_, [](cl_event event) { return execution_status(event) <= CL_COMPLETE; });
  if (native_waits_.empty()) return;
  const auto count = static_cast<cl_uint>(native_waits_.size());
  Native<cl_event> marker;
  cl_event* const out = queue.wants_events() ? marker.out() : nullptr;
  if (clEnqueueMarkerWithWaitList(queue.native(), count, native_waits_.data(), out) != CL_SUCCESS) return;
  queue.count_native_command(marker);
  touch(queue);
}

void Issuer::fail(Queue& queue, Event* event, std::int32_t status, TransferId transfer) {
  // If the driver refused the queue, all its commands fail, so this reports the reason for the refusal rather than
  // its consequence.
  events_.fail(queue.id(), event, queue.native() == nullptr ? queue.error() : status, transfer);
}

void Issuer::accepted(Queue& queue, Event* event, Native<cl_event> native) {
  queue.note(native);
  if (event == nullptr) return;
  event->position = queue.native_commands();
  events_.publish(*event, std::move(native));
}

void Issuer::finish_hold(EventId hold) {
  if (const auto at = holds_.find(hold); at != holds_.end()) {
    at->second->release_hold();
    holds_.erase(at);
  }
  events_.end_internal(hold);
}

EventId Issuer::make_hold(Queue& queue, Event* event, bool blocks_later) {
  const EventId hold = events_.begin_internal();
  queue.progress()->hold();
  holds_.emplace(hold, queue.progress());
  if (event != nullptr) {
    event->state = Event::State::kHeld;
    event->issued = hold;
  }
  if (queue.in_order() || blocks_later) queue.tail = hold;
  if (!queue.in_order()) {
    // Ended ones are removed when the list has doubled, so that the cost per command stays constant.
    if (queue.held.size() >= queue.sweep_at) {
      std::erase_if(queue.held, [this](EventId id) REQUIRES(session_lock) { return !events_.graph().pending(id); });
      queue.sweep_at = std::max<std::size_t>(64, 2 * queue.held.size());
    }
    queue.held.push_back(hold);
  }
  return hold;
}

std::uint64_t Issuer::table_size() const {
  constexpr std::uint64_t kHoldSize = 128;  // estimated, with its place in the table
  return events_.table_size() + holds_.size() * kHoldSize;
}

cl_int Issuer::refused(const HeldTooMuch& refusal) {
  if (!std::exchange(has_refused_, true)) log_warning("commands fail: {}", refusal.what());
  return CL_OUT_OF_HOST_MEMORY;
}

void Issuer::count_backlog(Queue& queue) {
  if (queue_watch_.count_backlog(queue, std::exchange(queue.uncounted, 0))) is_far_ahead_ = true;
  touch(queue);
}

void Issuer::add_touched(Queue& queue) {
  queue.touched = true;
  touched_.push_back(Ref<Queue>(&queue));
}

void Issuer::flush_queues() {
  for (const auto& queue : touched_) {
    queue->touched = false;
    if (queue->native() != nullptr) clFlush(queue->native());
  }
  touched_.clear();
  // Frees the memory of an unusually long wait list.
  constexpr std::size_t kKeptMax = 8192;
  if (native_waits_.capacity() + graph_waits_.capacity() > kKeptMax) {
    native_waits_ = {};
    graph_waits_ = {};
  }
}

void Issuer::drop_all() {
  events_.drop_all();
  gates_.clear();
  touched_.clear();
  holds_.clear();
}

}  // namespace remotecl::server
