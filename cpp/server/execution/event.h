#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/completion/native.h"
#include "server/execution/event_sink.h"

namespace remotecl::server {

class Device;

// One event of a session. Owned by the session's event table and by whatever still waits for it. Constant
// members may be read by any thread, the others need the session's lock.
class Event final : public RefCounted {
 public:
  enum class State {
    kHeld,      // its command was not handed to the native driver yet, or moves bulk data; `issued` says when it
                // was
    kNative,    // `native` tells
    kEnded,     // with `status`
    kExpected,  // ends elsewhere; SignalEvent tells
  };

  Event(EventId event_id, ObjectId queue_id, Device* on_device, bool with_profile);

  const EventId id;
  const ObjectId queue;  // 0 for an expected event
  Device* const device;  // null for an expected event
  const bool profiled;

  State state = State::kHeld;
  bool observed = false;  // the client gets EventDone
  bool reported = false;  // that EventDone is sent already, or arranged for
  // With other messages, that is: nobody is known to wait for it. Any thread.
  std::atomic<bool> unhurried{false};
  // Set when the driver's callback will send EventDone with the times of `native`. Whoever learns of the end first
  // sends it, so that the client never sees a dependent end before what it waited for.
  bool told_by_callback = false;
  std::atomic<bool> told{false};  // any thread
  bool tracked = false;           // its end is an event of the graph
  std::int32_t status = 0;
  PeerId expected_of = 0;                // kExpected: who tells; 0: the client
  bool released = false;                 // kExpected: the client does not name it any more
  std::vector<Ref<EventSink>> forwards;  // kHeld, kExpected: who is told of the end
  // Of a command whose times the client wants; `number` 0: of no other one. Constant once it has been issued.
  struct Trace {
    std::uint64_t number = 0;
    std::uint64_t received_ns = 0;
    std::uint64_t submitted_ns = 0;
  } trace;
  EventId issued = 0;       // kHeld: the graph's event that ends when the state changes
  Native<cl_event> native;  // stays after the end
  Native<cl_event> first;   // of several native commands the first one's, else null
  // Its command is being submitted.
  bool is_new() const { return state == State::kHeld && issued == 0; }
  cl_event start() const { return first ? first.get() : native.get(); }
};

}  // namespace remotecl::server
