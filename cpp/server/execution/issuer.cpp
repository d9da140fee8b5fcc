#include "server/execution/issuer.h"

#include <algorithm>

#include "runtime/base/host_time.h"
#include "server/completion/event_status.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

Event* Issuer::make_event(EventId id, Queue& queue, bool reports_unasked, bool unhurried) {
  auto event = make_ref<Event>(id, queue.id(), &queue.device(), queue.profiling());
  event->trace.number = std::exchange(next_trace_, 0);
  if (id == 0) {
    traced_ = std::move(event);
    return traced_.get();
  }
  event->observed = reports_unasked;
  event->unhurried = unhurried;
  Event* result = event.get();
  if ((id & kInternal) != 0 || !events_.insert(id, std::move(event))) {
    throw ProtocolError("event id " + std::to_string(id) + " cannot be used or was used before");
  }
  return result;
}

void Issuer::submitted(Event& event, bool was_held) {
  event.trace.submitted_ns = host_time_ns();
  if (!was_held) event.trace.received_ns = event.trace.submitted_ns;
}

void Issuer::clear_collected() {
  native_waits_.clear();
  graph_waits_.clear();
  dependency_failed_ = false;
  waits_for_itself_ = false;
}

void Issuer::collect(Queue& queue, const Array<EventId>& wait_list, std::vector<Ref<Event>>* kept) {
  for (std::size_t i = 0; i < wait_list.size(); ++i) {
    Event* event = events_.find(wait_list[i]);
    if (event == nullptr) continue;  // the client let go of it after its end
    waits_for_itself_ = waits_for_itself_ || event->is_new();
    depend(queue, *event);
    if (kept != nullptr) kept->push_back(Ref<Event>(event));
  }
}

void Issuer::collect_order(Queue& queue, bool waits_for_all) {
  if (queue.tail != 0) {
    if (graph_.pending(queue.tail)) {
      graph_waits_.push_back(queue.tail);
    } else {
      queue.tail = 0;
    }
  }
  if (!waits_for_all || queue.held.empty()) return;
  std::erase_if(queue.held, [this](EventId id) { return !graph_.pending(id); });
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
      if (implied) return;
      if (same_device) {
        native_waits_.push_back(event.native);
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
  track(event);
  graph_waits_.push_back(event.id);
}

void Issuer::keep_order(Queue& queue) {
  if (!queue.in_order() || queue.native() == nullptr) return;
  std::erase_if(native_waits_, [](cl_event event) { return execution_status(event) <= CL_COMPLETE; });
  if (native_waits_.empty()) return;
  const auto count = static_cast<cl_uint>(native_waits_.size());
  cl_event marker = nullptr;
  cl_event* const out = queue.wants_events() ? &marker : nullptr;
  if (clEnqueueMarkerWithWaitList(queue.native(), count, native_waits_.data(), out) != CL_SUCCESS) return;
  queue.count_native_command();
  touch(queue);
  if (marker != nullptr) accepted(queue, nullptr, marker);
}

// From now on the end of the event is an event of the graph.
void Issuer::track(Event& event) {
  if (event.tracked) return;
  event.tracked = true;
  graph_.expect(event.id);
  if (event.state == Event::State::kNative) notify_end(event);
}

void Issuer::notify_end(Event& event) {
  CompletionNotifier::notify(event.native, &strand_,
                             [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event)](cl_int status) {
                               strand->later([this, event, status] { end(*event, status); });
                             });
}

void Issuer::end(Event& event, std::int32_t status) {
  event.state = Event::State::kEnded;
  event.status = status;
  for (const auto& sink : event.forwards) sink->signal(event.id, status);
  event.forwards.clear();
  if (event.told_by_callback && !event.told.exchange(true)) {
    reporter_.end(event, status, event.native, event.native);
  }
  if (!event.tracked) return;
  graph_.complete(event.id, status, ready_);
  graph_.forget(event.id);
}

void Issuer::fail(Queue& queue, Event* event, std::int32_t status, TransferId transfer) {
  // A queue that the driver refused fails all its commands; the reason is worth more than the consequence.
  fail(queue.id(), event, queue.native() == nullptr ? queue.error() : status, transfer);
}

void Issuer::fail(ObjectId queue, Event* event, std::int32_t status, TransferId transfer) {
  outbox_.add(CommandFailed{queue, event == nullptr ? 0 : event->id, status, transfer});
  if (event == nullptr) return;
  end(*event, status);
  if (event->trace.number != 0) reporter_.trace(*event, status);
  if (event->observed && !event->reported) outbox_.add(EventDone{event->id, status, 0, {}});
}

void Issuer::accepted(Queue& queue, Event* event, cl_event native) {
  queue.note(native);
  if (event != nullptr) {
    publish(*event, native);
  } else {
    clReleaseEvent(native);
  }
}

void Issuer::finish(Event& event) {
  end(event, CL_COMPLETE);
  if (event.trace.number != 0) reporter_.trace(event, CL_COMPLETE);
  if (event.observed && !event.reported) reporter_.end(event, CL_COMPLETE, nullptr, nullptr);
  event.reported = event.observed;
}

void Issuer::publish(Event& event, cl_event native) {
  event.native = native;
  event.state = Event::State::kNative;
  if (event.trace.number != 0) {
    CompletionNotifier::notify(native, &strand_,
                               [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event)](cl_int status) {
                                 reporter_.trace(*event, status);
                               });
  }
  if (event.observed && !event.reported) report(event, CompletionNotifier::notify);
  if (event.tracked) notify_end(event);
  for (auto& sink : event.forwards) forward_end(event, std::move(sink));
  event.forwards.clear();
}

void Issuer::forward_end(Event& event, Ref<EventSink> sink) {
  CompletionNotifier::notify(event.native, &strand_,
                             [strand = Ref<Strand>(&strand_), sink = std::move(sink), id = event.id,
                              held = hold_answer(counters_)](cl_int status) { sink->signal(id, status); });
}

void Issuer::forward(EventId id, const Ref<EventSink>& sink) {
  Event* event = events_.find(id);
  if (event == nullptr) return sink->signal(id, CL_COMPLETE);
  switch (event->state) {
    case Event::State::kEnded:
      return sink->signal(id, event->status);
    case Event::State::kNative:
      return forward_end(*event, sink);
    case Event::State::kHeld:
    case Event::State::kExpected:
      if (std::find(event->forwards.begin(), event->forwards.end(), sink) == event->forwards.end()) {
        event->forwards.push_back(sink);
      }
  }
}

void Issuer::report(Event& event, decltype(CompletionNotifier::notify)& notify) {
  event.reported = true;
  event.told_by_callback = true;
  notify(event.native, &strand_, [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event)](cl_int status) {
    if (event->told.exchange(true)) return;
    reporter_.end(*event, status, event->start(), event->native);
    outbox_.flush();
  });
}

void Issuer::finish_hold(EventId hold) {
  if (const auto at = holds_.find(hold); at != holds_.end()) {
    at->second->release_hold();
    holds_.erase(at);
  }
  graph_.complete(hold, CL_COMPLETE, ready_);
  graph_.forget(hold);
}

EventId Issuer::make_hold(Queue& queue, Event* event, bool blocks_later) {
  const EventId hold = ++last_hold_;
  queue.progress()->hold();
  holds_.emplace(hold, queue.progress());
  graph_.expect(hold);
  if (event != nullptr) {
    event->state = Event::State::kHeld;
    event->issued = hold;
  }
  if (queue.in_order() || blocks_later) queue.tail = hold;
  if (!queue.in_order()) {
    // Ended ones are swept out when the list has doubled, so that the cost per command stays constant.
    if (queue.held.size() >= queue.sweep_at) {
      std::erase_if(queue.held, [this](EventId id) { return !graph_.pending(id); });
      queue.sweep_at = std::max<std::size_t>(64, 2 * queue.held.size());
    }
    queue.held.push_back(hold);
  }
  return hold;
}

void Issuer::observe(EventId id) {
  Event* event = events_.find(id);
  if (event == nullptr) {
    outbox_.add(EventDone{id, CL_COMPLETE, 0, {}});
    return;
  }
  if (event->unhurried.exchange(false)) outbox_.hurry();
  if (event->observed) return;
  event->observed = true;
  if (event->state == Event::State::kNative) report(*event, CompletionNotifier::notify_asked);
  if (event->state != Event::State::kEnded) return;
  event->reported = true;
  if (event->native != nullptr) {
    reporter_.end(*event, event->status, event->start(), event->native);
  } else {
    outbox_.add(EventDone{id, event->status, 0, {}});
  }
}

void Issuer::release(EventId id) {
  // What a peer will signal may be released by the client, which need not hear of it, before the signal comes.
  Event* event = events_.find(id);
  if (event != nullptr && event->state == Event::State::kExpected) {
    event->released = true;
  } else {
    events_.take(id);
  }
}

void Issuer::expect(EventId id, PeerId peer) {
  auto event = make_ref<Event>(id, 0, nullptr, false);
  event->state = Event::State::kExpected;
  event->expected_of = peer;
  event->tracked = true;
  if ((id & kInternal) != 0 || !events_.insert(id, event)) {
    throw ProtocolError("event id " + std::to_string(id) + " cannot be used or was used before");
  }
  graph_.expect(id);
  const auto by_peer = early_signals_.find(peer);
  if (by_peer == early_signals_.end()) return;
  const auto early = by_peer->second.find(id);
  if (early == by_peer->second.end()) return;
  const std::int32_t status = early->second;
  by_peer->second.erase(early);
  --early_count_;
  count_early();
  signal(id, status);
}

void Issuer::signal(EventId id, std::int32_t status) {
  Event* event = events_.find(id);
  if (event == nullptr || event->state == Event::State::kEnded) return;
  if (event->state != Event::State::kExpected) {
    throw ProtocolError("event id " + std::to_string(id) + " is signalled but not expected");
  }
  const Ref<Event> kept(event);
  if (event->released) events_.take(id);
  end(*event, std::min(status, 0));
  if (event->observed) outbox_.add(EventDone{id, event->status, 0, {}});
}

void Issuer::signal_for(PeerId peer, EventId id, std::int32_t status) {
  const Event* event = events_.find(id);
  if (event != nullptr && event->expected_of == peer) signal(id, status);
}

void Issuer::signal_by(PeerId peer, EventId id, std::int32_t status) {
  if (const Event* event = events_.find(id)) {
    if (event->expected_of != peer) {
      throw ProtocolError("event id " + std::to_string(id) + " is signalled by a peer that it is not expected from");
    }
    return signal(id, status);
  }
  auto& early = early_signals_[peer];
  if (early.emplace(id, status).second) ++early_count_;
  try {
    count_early();
  } catch (const HeldTooMuch&) {
    // Its link ends; the session, which goes on, needs the room.
    early_count_ -= early.size();
    early_signals_.erase(peer);
    count_early();
    throw;
  }
}

void Issuer::count_early() {
  constexpr std::uint64_t kEarlySize = 64;  // about
  early_memory_.follow(early_count_ * kEarlySize);
}

std::uint64_t Issuer::table_size() const {
  // About, with their places in the tables, and those of the graph; of events with the driver's.
  constexpr std::uint64_t kEventSize = sizeof(Event) + 512, kGraphSize = 128, kHoldSize = 128;
  return events_.size() * kEventSize + graph_.pending_events() * kGraphSize + holds_.size() * kHoldSize;
}

cl_int Issuer::refused(const HeldTooMuch& refusal) {
  if (!std::exchange(has_refused_, true)) log_warning("commands fail: {}", refusal.what());
  return CL_OUT_OF_HOST_MEMORY;
}

void Issuer::fail_expected(PeerId peer, std::int32_t status) {
  std::vector<EventId> expected;
  events_.for_each([&](const Event& event) {
    if (event.state == Event::State::kExpected && event.expected_of == peer) expected.push_back(event.id);
  });
  for (const EventId id : expected) signal(id, status);
  const auto early = early_signals_.find(peer);
  if (early == early_signals_.end()) return;
  early_count_ -= early->second.size();
  early_signals_.erase(early);
  count_early();
}

void Issuer::run_ready() {
  while (!ready_.empty()) {
    std::vector<EventGraph::Ready> batch;
    batch.swap(ready_);
    for (auto& ready : batch) ready.action(ready.status);
  }
}

void Issuer::count_backlog(Queue& queue) {
  const std::uint64_t size = std::exchange(queue.uncounted, 0) * DriverBacklog::kCommandSize;
  if (queue_watch_.count_backlog(queue, size)) is_far_ahead_ = true;
  touch(queue);
}

void Issuer::touch(Queue& queue) {
  if (queue.touched) return;
  queue.touched = true;
  touched_.push_back(Ref<Queue>(&queue));
}

void Issuer::flush_queues() {
  for (const auto& queue : touched_) {
    queue->touched = false;
    if (queue->native() != nullptr) clFlush(queue->native());
  }
  touched_.clear();
  // Of an unusually long wait list.
  constexpr std::size_t kKeptMax = 8192;
  if (native_waits_.capacity() + graph_waits_.capacity() > kKeptMax) {
    native_waits_ = {};
    graph_waits_ = {};
  }
}

void Issuer::drop_all() {
  graph_.fail_all(CL_DEVICE_NOT_AVAILABLE, ready_);
  ready_.clear();
  touched_.clear();
  holds_.clear();
  traced_ = nullptr;
  events_.clear();
}

}  // namespace remotecl::server
