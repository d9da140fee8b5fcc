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
#include "server/wire/outbox.h"

namespace remotecl::server {

// The events of a session: what each is worth at any time, and who gets to know of its end: the client, peers, and
// commands that wait for it in the graph. Owned by the session; needs its lock.
class EventTable {
 public:
  EventTable(Strand& strand, Outbox& outbox, EventReporter& reporter, const Ref<SessionCounters>& counters)
      : strand_(strand), outbox_(outbox), reporter_(reporter), counters_(counters) {}
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  // Makes the event of a command; null for id 0, unless the command is traced. Throws ProtocolError for an id that was
  // used before. `reports_unasked`: EventDone is sent without ObserveEvent; `unhurried`: when other messages are, or
  // ObserveEvent comes.
  Event* begin(EventId id, Queue& queue, bool reports_unasked, bool unhurried) {
    if (id == 0 && !trace_request_.is_pending()) [[likely]]
      return nullptr;
    return make(id, queue, reports_unasked, unhurried);
  }
  // One that ends elsewhere: signal() ends it.
  void expect(EventId id, PeerId peer);
  // Null: the client let go of it after its end, or it never was.
  Event* find(EventId id) const { return events_.find(id); }
  // Those that are expected of a peer.
  std::vector<EventId> expected_of(PeerId peer) const;
  TraceRequest& trace_request() { return trace_request_; }
  EventGraph& graph() { return graph_; }

  // An event of the graph that the client does not know.
  EventId begin_internal();
  void end_internal(EventId id);
  // From now on the end of the event is an event of the graph.
  void track(Event& event);

  // ---- How a command goes on.
  // A traced one is given to the driver now.
  static void submitted(Event& event, bool was_held);
  // A native command has the event `native`.
  void publish(Event& event, Native<cl_event> native);
  // It has ended without anything native.
  void finish(Event& event);
  // It cannot be carried out: the client learns it, and so do its dependents. `event` may be null. `transfer`: the
  // command's, so that whoever waits for its bytes stops waiting; 0: it has none.
  void fail(ObjectId queue, Event* event, std::int32_t status, TransferId transfer);
  // An expected event has ended.
  void signal(Event& event, std::int32_t status);

  // ---- Who gets to know.
  void observe(EventId id);
  void release(EventId id);
  void forward(EventId id, const Ref<EventSink>& sink);

  // Hands commands over that nothing holds back any more, and those that follow from that.
  void run_ready();
  // What events take in tables, about.
  std::uint64_t table_size() const;
  // The session ends: nothing that waits will run.
  void drop_all();

 private:
  static constexpr EventId kInternal = EventId{1} << 63;

  Event* make(EventId id, Queue& queue, bool reports_unasked, bool unhurried);
  void insert(EventId id, Ref<Event> event);
  void end(Event& event, std::int32_t status);
  // `is_asked`: the client waits for an answer.
  void report(Event& event, bool is_asked);
  void notify_end(Event& event);
  void forward_end(Event& event, Ref<EventSink> sink);

  Strand& strand_;
  Outbox& outbox_;
  EventReporter& reporter_;
  const Ref<SessionCounters> counters_;
  TraceRequest trace_request_;
  Ref<Event> traced_;  // of the command that is being handled, where it has no event of its own
  ObjectTable<Event> events_;
  EventGraph graph_;
  EventId last_internal_ = kInternal;
  std::vector<EventGraph::Ready> ready_;
};

}  // namespace remotecl::server
