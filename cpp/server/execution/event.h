#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/transport_kind.h"
#include "server/completion/native.h"
#include "server/execution/event_sink.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

class Device;

// One event of a session. Owned by the session's event table and by all that still waits for it.
class Event final : public RefCounted {
 public:
  enum class State {
    kHeld,  // its command has not been passed to the native driver or moves bulk data; `issued` ends when this changes
    kNative,    // `native` has the state
    kEnded,     // ended with `status`
    kExpected,  // ends elsewhere; SignalEvent reports it
  };

  Event(EventId event_id, ObjectId queue_id, Device* on_device, bool with_profile);

  const EventId id;
  const ObjectId queue;  // 0 for an expected event
  Device* const device;  // null for an expected event
  const bool profiled;

  State state GUARDED_BY(session_lock) = State::kHeld;
  bool observed GUARDED_BY(session_lock) = false;  // the client gets EventDone
  bool reported GUARDED_BY(session_lock) = false;  // EventDone has been sent, or its sending is arranged
  // EventDone may wait for other messages, because nobody is known to wait for it. Any thread.
  std::atomic<bool> unhurried{false};
  // Set if the driver's callback will send EventDone with the times of `native`. The first thread that
  // notices the end sends it, so that the client never sees a dependent's end before this one.
  bool callback_reports GUARDED_BY(session_lock) = false;
  std::atomic<bool> report_taken{false};          // a thread has taken over sending EventDone; any thread
  mutable std::atomic<bool> report_added{false};  // it has been added to the outbox; any thread
  bool tracked GUARDED_BY(session_lock) = false;  // its end is an event of the graph
  // kNative: the driver fails the command without beginning it if what it waits for fails.
  bool may_not_begin GUARDED_BY(session_lock) = false;
  std::int32_t status GUARDED_BY(session_lock) = 0;
  std::uint64_t position GUARDED_BY(session_lock) = 0;  // of its native command in its queue; 0: it has none
  // kExpected: the server that will signal it; 0: the client.
  PeerId expected_of GUARDED_BY(session_lock) = 0;
  bool released GUARDED_BY(session_lock) = false;                 // kExpected: the client no longer refers to it
  std::vector<Ref<EventSink>> forwards GUARDED_BY(session_lock);  // kHeld, kExpected: the sinks that get its end
  // For a command whose times the client wants; `number` 0: not traced.
  struct Trace {
    std::uint64_t number = 0;
    std::uint64_t received_ns = 0;
    std::uint64_t submitted_ns = 0;
    TransportKind transport = TransportKind::kNone;  // of a transfer: set before it ends
  } trace GUARDED_BY(session_lock);
  EventId issued GUARDED_BY(session_lock) = 0;       // kHeld: the graph's event that ends when the state changes
  Native<cl_event> native GUARDED_BY(session_lock);  // kept after the end, for callbacks that have its handle
  Native<cl_event> first GUARDED_BY(session_lock);   // the event of the first of several native commands, else null
  // Returns true while its command is being submitted.
  bool is_new() const REQUIRES(session_lock) { return state == State::kHeld && issued == 0; }
  cl_event start() const REQUIRES(session_lock) { return first ? first.get() : native.get(); }
};

}  // namespace remotecl::server
