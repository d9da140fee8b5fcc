#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/event_graph.h"
#include "runtime/protocol/messages.h"
#include "server/execution/event.h"
#include "server/execution/event_reporter.h"
#include "server/execution/event_sink.h"
#include "server/execution/queue.h"
#include "server/execution/strand.h"
#include "server/execution/trace_request.h"
#include "server/quota/session_counters.h"
#include "server/util/object_table.h"
#include "server/util/session_lock.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The events of a session: their states, and the reports of their ends to the client, to peers, and to the
// commands that wait for them in the graph. Owned by the session.
class EventTable {
 public:
  EventTable(Strand& strand, Outbox& outbox, EventReporter& reporter, const Ref<SessionCounters>& counters)
      : strand_(strand), outbox_(outbox), reporter_(reporter), counters_(counters) {}
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  // Makes the event of a command. Returns null for id 0, unless the command is traced. Throws ProtocolError
  // for an id that was used before. `reports_unasked`: EventDone is sent without ObserveEvent. `unhurried`:
  // it is sent only together with other messages, or when ObserveEvent comes.
  Event* begin(EventId id, Queue& queue, bool reports_unasked, bool unhurried) REQUIRES(session_lock) {
    if (id == 0 && !trace_request_.is_pending()) [[likely]]
      return nullptr;
    return make(id, queue, reports_unasked, unhurried);
  }
  // Makes an event that ends elsewhere; signal() ends it.
  void expect(EventId id, PeerId peer) REQUIRES(session_lock);
  // Null if the client has released it after its end, or if it never existed.
  Event* find(EventId id) const REQUIRES(session_lock) { return events_.find(id); }
  // The events expected from this peer.
  std::vector<EventId> expected_of(PeerId peer) const REQUIRES(session_lock);
  TraceRequest& trace_request() REQUIRES(session_lock) { return trace_request_; }
  EventGraph& graph() REQUIRES(session_lock) { return graph_; }

  // Makes an event of the graph that the client does not know.
  EventId begin_internal() REQUIRES(session_lock);
  void end_internal(EventId id) REQUIRES(session_lock);
  // Runs the action with the event's status when it has ended, at once if it has or is unknown.
  void when_ended(EventId id, EventGraph::Action action) REQUIRES(session_lock);
  // From now on the event's end is an event of the graph.
  void track(Event& event) REQUIRES(session_lock);

  // ---- The progress of a command.
  // A traced command is now passed to the driver.
  static void submitted(Event& event, bool was_held) REQUIRES(session_lock);
  // A native command has the event `native`.
  void publish(Event& event, Native<cl_event> native) REQUIRES(session_lock);
  // The command has ended without a native command.
  void finish(Event& event) REQUIRES(session_lock);
  // The command cannot be executed: reports that to the client and to its dependents. `event` may be null.
  // `transfer`: the command's transfer, so that the client stops waiting for its bytes; 0: none.
  void fail(ObjectId queue, Event* event, std::int32_t status, TransferId transfer) REQUIRES(session_lock);
  // An expected event has ended.
  void signal(Event& event, std::int32_t status) REQUIRES(session_lock);

  // ---- Who gets its end reported.
  void observe(EventId id) REQUIRES(session_lock);
  // The native commands of this queue have ended: reports failures that the client has not asked for. Returns the
  // position of the newest one that the client can learn of from its event, or 0.
  std::uint64_t report_failures(ObjectId queue) REQUIRES(session_lock);
  void release(EventId id) REQUIRES(session_lock);
  void forward(EventId id, const Ref<EventSink>& sink) REQUIRES(session_lock);

  // Issues the commands that nothing holds back any more, and those that these release.
  void run_ready() REQUIRES(session_lock);
  // The approximate size of events in tables.
  std::uint64_t table_size() const REQUIRES(session_lock);
  // The session ends: commands that wait will not run.
  void drop_all() REQUIRES(session_lock);

 private:
  static constexpr EventId kInternal = EventId{1} << 63;

  Event* make(EventId id, Queue& queue, bool reports_unasked, bool unhurried) REQUIRES(session_lock);
  void insert(EventId id, Ref<Event> event) REQUIRES(session_lock);
  void end(Event& event, std::int32_t status) REQUIRES(session_lock);
  // `is_asked`: the client waits for a reply.
  void report(Event& event, bool is_asked) REQUIRES(session_lock);
  void report_again(Event& event) REQUIRES(session_lock);
  void notify_end(Event& event) REQUIRES(session_lock);
  void forward_end(Event& event, Ref<EventSink> sink) REQUIRES(session_lock);

  Strand& strand_;
  Outbox& outbox_;
  EventReporter& reporter_;
  const Ref<SessionCounters> counters_;
  TraceRequest trace_request_ GUARDED_BY(session_lock);
  // The event of the command being handled, if the command is traced and has no other event.
  Ref<Event> traced_ GUARDED_BY(session_lock);
  ObjectTable<Event> events_ GUARDED_BY(session_lock);
  EventGraph graph_ GUARDED_BY(session_lock);
  EventId last_internal_ GUARDED_BY(session_lock) = kInternal;
  std::vector<EventGraph::Ready> ready_ GUARDED_BY(session_lock);
};

}  // namespace remotecl::server
