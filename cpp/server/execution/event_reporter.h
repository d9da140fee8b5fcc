#pragma once

#include <atomic>
#include <cstdint>

#include "server/execution/event.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Reports the ends of a session's events to its client, and the times of traced commands. Any thread, a driver's
// callback too.
class EventReporter {
 public:
  explicit EventReporter(Outbox& outbox) : outbox_(outbox) {}

  // Adds EventDone, and CommandFailed for a failure, to the outbox.
  void end(const Event& event, std::int32_t status, cl_event first, cl_event last);

  // CommandTraced.
  void trace(const Event& event, std::int32_t status);
  // Somebody waits for the times of traced commands: they are sent at once, until the next one is traced.
  void hurry_traces();
  void relax_traces() { traces_hurried_.store(false, std::memory_order_relaxed); }

 private:
  Outbox& outbox_;
  std::atomic<bool> traces_hurried_{false};
};

}  // namespace remotecl::server
