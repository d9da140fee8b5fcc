#include "server/handlers/handlers.h"

namespace remotecl::server {
namespace {

// Ends an expected event after the native commands of the queue so far.
void signal_behind(Session& session, Queue& queue, EventId event) REQUIRES(session_lock) {
  const auto signal = [&session, event]() REQUIRES(session_lock) { session.signals().signal(event, CL_COMPLETE); };
  if (queue.native_idle()) return signal();
  session.issuer().touch(queue);
  if (session.queue_watch().run_after(queue, signal) != CL_SUCCESS) signal();
}

// The same after all commands of the queue.
struct SignalCommand {
  static constexpr bool kLong = false;
  static constexpr bool kReplies = true;

  Session* session;
  EventId event;

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    issue.enqueued = false;
    signal_behind(*session, issue.queue, event);
    return CL_SUCCESS;
  }
};

}  // namespace

void handle(Session& session, const ObserveEvent& message) { session.events().observe(message.event); }
void handle(Session& session, const ReleaseEvent& message) { session.events().release(message.event); }
void handle(Session& session, const ExpectEvent& message) {
  session.signals().expect(message.event, message.peer);
  if (message.peer != 0 && session.peers().gone(message.peer))
    session.signals().signal(message.event, CL_DEVICE_NOT_AVAILABLE);
}
void handle(Session& session, const SignalEvent& message) {
  if (message.peer == 0) return session.signals().signal(message.event, message.status);
  session.signals().signal_for(message.peer, message.event, message.status);
}

void handle(Session& session, const ExpectEnd& message) {
  session.signals().expect(message.event, 0);
  const Event* const of = session.events().find(message.of);
  Ref<Queue> queue(of == nullptr || message.in_order == 0 ? nullptr : session.objects().queues.find(of->queue));
  if (queue && queue->native() == nullptr) queue = nullptr;  // nothing of it is under way
  if (queue && of->state == Event::State::kEnded && of->status < 0)
    return session.issuer().submit(*queue, nullptr, {}, SignalCommand{&session, message.event}, true);
  const auto ended = [&session, queue, event = message.event](std::int32_t status) REQUIRES(session_lock) {
    if (status == CL_COMPLETE || !queue) return session.signals().signal(event, CL_COMPLETE);
    // The driver has those before it by now. What is still held back came later and may wait for this event.
    signal_behind(session, *queue, event);
  };
  session.events().when_ended(message.of, ended);
}

void handle(Session& session, const FlushTrace&) { session.reporter().hurry_traces(); }

}  // namespace remotecl::server
