#include <algorithm>

#include "server/session/session.h"

namespace remotecl::server {

void Session::handle(const ObserveEvent& message) { issuer_.observe(message.event); }
void Session::handle(const ReleaseEvent& message) { issuer_.release(message.event); }
void Session::handle(const ExpectEvent& message) {
  issuer_.expect(message.event, message.peer);
  if (message.peer != 0 && peers_.gone(message.peer)) issuer_.signal(message.event, CL_DEVICE_NOT_AVAILABLE);
}
void Session::handle(const SignalEvent& message) {
  if (message.peer == 0) return issuer_.signal(message.event, message.status);
  issuer_.signal_for(message.peer, message.event, message.status);
}

void Session::report_end(const Event& event, std::int32_t status, cl_event first, cl_event last) {
  if (event.id == 0) return;  // of a command that is traced and has no other event
  EventDone done{event.id, status, 0, {}};
  if (status < 0) {
    outbox_.add(CommandFailed{event.queue, event.id, status});
  } else if (event.profiled && last != nullptr) {
    static constexpr cl_profiling_info kTimes[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                                   CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    done.has_profile = 1;
    for (int i = 0; i < 4; ++i) {
      cl_ulong time = 0;
      if (clGetEventProfilingInfo(i < 3 ? first : last, kTimes[i], sizeof time, &time, nullptr) != CL_SUCCESS) {
        done.has_profile = 0;
      }
      done.profile[i] = time;
    }
    // NVIDIA's driver leaves some times of markers out: those are the next ones, and none is before the one before it.
    for (int i = 2; i >= 0; --i) {
      if (done.profile[i] == 0) done.profile[i] = done.profile[i + 1];
    }
    for (int i = 1; i < 4; ++i) done.profile[i] = std::max(done.profile[i], done.profile[i - 1]);
  }
  if (event.unhurried && status >= 0) {
    outbox_.add_lazily(done);
  } else {
    outbox_.add(done);
  }
}

}  // namespace remotecl::server
