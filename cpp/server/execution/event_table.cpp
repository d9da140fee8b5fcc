#include "server/execution/event_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/host_time.h"
#include "server/completion/event_status.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

Event* EventTable::make(EventId id, Queue& queue, bool reports_unasked, bool unhurried) {
  auto event = make_ref<Event>(id, queue.id(), &queue.device(), queue.profiling());
  event->trace.number = trace_request_.take();
  if (id == 0) {
    traced_ = std::move(event);
    return traced_.get();
  }
  strand_.completions().comes(id);
  event->observed = reports_unasked;
  event->unhurried = unhurried;
  Event* const result = event.get();
  insert(id, std::move(event));
  return result;
}

void EventTable::insert(EventId id, Ref<Event> event) {
  if ((id & kInternal) != 0 || !events_.insert(id, std::move(event))) {
    throw ProtocolError("event id " + std::to_string(id) + " cannot be used or was used before");
  }
}

void EventTable::expect(EventId id, PeerId peer) {
  auto event = make_ref<Event>(id, 0, nullptr, false);
  event->state = Event::State::kExpected;
  event->expected_of = peer;
  event->tracked = true;
  insert(id, std::move(event));
  graph_.expect(id);
}

std::vector<EventId> EventTable::expected_of(PeerId peer) const {
  std::vector<EventId> expected;
  events_.for_each([&](const Event& event) REQUIRES(session_lock) {
    if (event.state == Event::State::kExpected && event.expected_of == peer) expected.push_back(event.id);
  });
  return expected;
}

EventId EventTable::begin_internal() {
  graph_.expect(++last_internal_);
  return last_internal_;
}

void EventTable::end_internal(EventId id) {
  graph_.complete(id, CL_COMPLETE, ready_);
  graph_.forget(id);
}

void EventTable::track(Event& event) {
  if (event.tracked) return;
  event.tracked = true;
  graph_.expect(event.id);
  if (event.state == Event::State::kNative) notify_end(event);
}

void EventTable::when_ended(EventId id, EventGraph::Action action) {
  Event* const event = events_.find(id);
  if (event == nullptr) return action(CL_COMPLETE);
  if (event->state == Event::State::kEnded) return action(event->status);
  track(*event);
  graph_.defer({&id, 1},
               [action = std::move(action), held = hold_reply(counters_)](std::int32_t status) { action(status); });
}

void EventTable::submitted(Event& event, bool was_held) {
  event.trace.submitted_ns = host_time_ns();
  if (!was_held) event.trace.received_ns = event.trace.submitted_ns;
}

void EventTable::publish(Event& event, Native<cl_event> native) {
  event.native = std::move(native);
  event.state = Event::State::kNative;
  if (event.trace.number != 0) {
    auto trace = [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event), traced = event.trace,
                  first = event.start(),
                  last = event.native.get()](cl_int status) { reporter_.trace(*event, traced, status, first, last); };
    strand_.completions().notify(event.native.get(), std::move(trace));
  }
  if (event.observed && !event.reported) report(event, false);
  if (event.tracked) notify_end(event);
  for (auto& sink : event.forwards) forward_end(event, std::move(sink));
  event.forwards.clear();
}

void EventTable::finish(Event& event) {
  end(event, CL_COMPLETE);
  if (event.trace.number != 0) reporter_.trace(event, event.trace, CL_COMPLETE, nullptr, nullptr);
  if (event.observed && !event.reported) reporter_.end(event, CL_COMPLETE, nullptr, nullptr);
  event.reported = event.observed;
}

void EventTable::fail(ObjectId queue, Event* event, std::int32_t status, TransferId transfer) {
  outbox_.add(CommandFailed{queue, event == nullptr ? 0 : event->id, status, transfer});
  if (event == nullptr) return;
  end(*event, status);
  if (event->trace.number != 0) reporter_.trace(*event, event->trace, status, nullptr, nullptr);
  if (event->observed && !event->reported) outbox_.add(EventDone{event->id, status, 0, {}});
}

void EventTable::signal(Event& event, std::int32_t status) {
  const Ref<Event> kept(&event);
  if (event.released) events_.take(event.id);
  end(event, std::min(status, 0));
  if (event.observed) outbox_.add(EventDone{event.id, event.status, 0, {}});
}

void EventTable::end(Event& event, std::int32_t status) {
  // report_failures() will not see it any more.
  const bool reports_failure = status < 0 && event.state == Event::State::kNative && !event.reported;
  if (reports_failure) event.observed = event.reported = true;
  event.state = Event::State::kEnded;
  event.status = status;
  for (const auto& sink : event.forwards) sink->signal(event.id, status);
  event.forwards.clear();
  if ((event.callback_reports || reports_failure) && !event.report_taken.exchange(true)) {
    reporter_.end(event, status, event.start(), event.native.get());
  }
  if (!event.tracked) return;
  graph_.complete(event.id, status, ready_);
  graph_.forget(event.id);
}

void EventTable::observe(EventId id) {
  Event* event = events_.find(id);
  if (event == nullptr) {
    outbox_.add(EventDone{id, CL_COMPLETE, 0, {}});
    return;
  }
  if (event->unhurried.exchange(false)) outbox_.hurry();
  if (event->observed) return report_again(*event);
  event->observed = true;
  if (event->state == Event::State::kNative) report(*event, true);
  if (event->state != Event::State::kEnded) return;
  event->reported = true;
  if (event->native) {
    reporter_.end(*event, event->status, event->start(), event->native.get());
  } else {
    outbox_.add(EventDone{id, event->status, 0, {}});
  }
}

// The client knows the end of a command that may have waited for this event, whose callback may be late, or on its way
// to the outbox. Then it reports the same again.
void EventTable::report_again(Event& event) {
  if (!event.callback_reports || event.report_added || event.state == Event::State::kHeld) return;
  const cl_int status = event.state == Event::State::kEnded ? event.status : execution_status(event.native.get());
  if (status > CL_COMPLETE) return;
  event.report_taken = true;
  reporter_.end(event, status, event.start(), event.native.get());
}

std::uint64_t EventTable::report_failures(ObjectId queue) {
  std::uint64_t newest = 0;
  events_.for_each([&](Event& event) REQUIRES(session_lock) {
    if (event.queue != queue || event.position == 0) return;
    const bool is_native = event.state == Event::State::kNative;
    const cl_int status = is_native ? execution_status(event.native.get()) : event.status;
    if (status >= 0) return;
    newest = std::max(newest, event.position);
    if (!is_native || event.report_taken.exchange(true)) return;
    event.observed = event.reported = true;
    reporter_.end(event, status, event.start(), event.native.get());
  });
  return newest;
}

void EventTable::release(EventId id) {
  // The client may release an event that a peer will signal before the signal comes, if it needs no report of
  // its end.
  Event* event = events_.find(id);
  if (event != nullptr && event->state == Event::State::kExpected) {
    event->released = true;
  } else {
    events_.take(id);
  }
}

void EventTable::forward(EventId id, const Ref<EventSink>& sink) {
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

void EventTable::report(Event& event, bool is_asked) {
  event.reported = true;
  event.callback_reports = true;
  auto report = [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event), first = event.start(),
                 last = event.native.get()](cl_int status) {
    if (event->report_taken.exchange(true)) return;
    reporter_.end(*event, status, first, last);
    outbox_.flush();
  };
  if (is_asked) {
    strand_.completions().notify_asked(event.native.get(), std::move(report), event.id);
  } else {
    strand_.completions().notify(event.native.get(), std::move(report), event.id);
  }
}

void EventTable::notify_end(Event& event) {
  auto ended = [this, strand = Ref<Strand>(&strand_), event = Ref<Event>(&event)](cl_int status) {
    strand->later([this, event, status]() REQUIRES(session_lock) { end(*event, status); });
  };
  strand_.completions().notify(event.native.get(), std::move(ended), event.id);
}

void EventTable::forward_end(Event& event, Ref<EventSink> sink) {
  auto ended = [strand = Ref<Strand>(&strand_), sink = std::move(sink), id = event.id,
                held = hold_reply(counters_)](cl_int status) { sink->signal(id, status); };
  strand_.completions().notify(event.native.get(), std::move(ended), event.id);
}

void EventTable::run_ready() {
  while (!ready_.empty()) {
    std::vector<EventGraph::Ready> batch;
    batch.swap(ready_);
    for (auto& ready : batch) ready.action(ready.status);
  }
}

std::uint64_t EventTable::table_size() const {
  // Estimates: with their places in the tables and in the graph, and with the driver's event.
  constexpr std::uint64_t kEventSize = sizeof(Event) + 512, kGraphSize = 128;
  return events_.size() * kEventSize + graph_.pending_events() * kGraphSize;
}

void EventTable::drop_all() {
  graph_.fail_all(CL_DEVICE_NOT_AVAILABLE, ready_);
  ready_.clear();
  traced_ = nullptr;
  events_.clear();
}

}  // namespace remotecl::server
