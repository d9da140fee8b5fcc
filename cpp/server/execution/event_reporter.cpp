#include "server/execution/event_reporter.h"

#include <algorithm>

#include "runtime/base/host_time.h"

namespace remotecl::server {

void EventReporter::end(const Event& event, std::int32_t status, cl_event first, cl_event last) {
  if (event.id == 0) return;  // a traced command without another event
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
    // NVIDIA's driver leaves out some times of markers: take the next one instead, and keep the times
    // ascending.
    for (int i = 2; i >= 0; --i) {
      if (done.profile[i] == 0) done.profile[i] = done.profile[i + 1];
    }
    for (int i = 1; i < 4; ++i) done.profile[i] = std::max(done.profile[i], done.profile[i - 1]);
  }
  if (status < 0) {
    outbox_.add(done);
  } else {
    outbox_.add_lazily(done);
    // Checked after the message is added, so that either this thread or the one that asks for the end hurries it.
    if (!event.unhurried) outbox_.hurry();
  }
  event.report_added = true;
}

void EventReporter::trace(const Event& event, const Event::Trace& traced, std::int32_t status, cl_event first,
                          cl_event last) {
  const std::uint64_t now = host_time_ns();
  CommandTraced report{traced.number,
                       status,
                       0,
                       traced.received_ns,
                       traced.submitted_ns,
                       now,
                       0,
                       0,
                       static_cast<std::uint32_t>(traced.transport)};
  if (report.received_ns == 0) report.received_ns = now;  // the command was refused
  if (event.profiled && status >= 0 && last != nullptr) {
    const auto read = [](cl_event native, cl_profiling_info name, std::uint64_t& time_ns) {
      return clGetEventProfilingInfo(native, name, sizeof time_ns, &time_ns, nullptr) == CL_SUCCESS && time_ns != 0;
    };
    const bool known =
        read(first, CL_PROFILING_COMMAND_START, report.start_ns) && read(last, CL_PROFILING_COMMAND_END, report.end_ns);
    report.has_profile = known ? 1 : 0;
  }
  outbox_.add_lazily(report);
  if (traces_hurried_) outbox_.hurry();  // checked after the report is added, so that this or FlushTrace hurries it
  outbox_.flush();
}

void EventReporter::hurry_traces() {
  traces_hurried_ = true;
  outbox_.hurry();
}

}  // namespace remotecl::server
