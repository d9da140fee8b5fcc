#pragma once

#include <atomic>
#include <cstdint>

#include "server/execution/event.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Reports the ends of a session's events, and the times of traced commands, to the client. Any thread,
// including a driver's callback.
class EventReporter {
 public:
  explicit EventReporter(Outbox& outbox) : outbox_(outbox) {}

  // Adds EventDone, and CommandFailed for a failure, to the outbox.
  void end(const Event& event, std::int32_t status, cl_event first, cl_event last);

  // Sends CommandTraced. `first`, `last`: null if no native command has run.
  void trace(const Event& event, const Event::Trace& traced, std::int32_t status, cl_event first, cl_event last);
  // The client waits for the times of traced commands: sends them at once until the next command is traced.
  void hurry_traces();
  void relax_traces() { traces_hurried_.store(false, std::memory_order_relaxed); }

 private:
  Outbox& outbox_;
  std::atomic<bool> traces_hurried_{false};
};

}  // namespace remotecl::server
