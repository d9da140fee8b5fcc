// Tracing: the client is told when the commands that it names were received, went to the driver and ended.
#include <algorithm>

#include "runtime/base/host_time.h"
#include "server/session/session.h"

namespace remotecl::server {

void Session::handle(const FlushTrace&) {
  trace_hurried_ = true;
  outbox_.hurry();
}

void Session::report_trace(const Event& event, std::int32_t status) {
  const Event::Trace& trace = event.trace;
  const std::uint64_t now = host_time_ns();
  CommandTraced report{trace.number, 0, status, 0, trace.received_ns, trace.submitted_ns, now, 0, 0};
  if (report.received_ns == 0) report.received_ns = now;  // refused
  if (event.profiled && status >= 0 && event.native != nullptr) {
    const auto read = [](cl_event native, cl_profiling_info name, std::uint64_t& time_ns) {
      return clGetEventProfilingInfo(native, name, sizeof time_ns, &time_ns, nullptr) == CL_SUCCESS && time_ns != 0;
    };
    const bool known = read(event.start(), CL_PROFILING_COMMAND_START, report.start_ns) &&
                       read(event.native, CL_PROFILING_COMMAND_END, report.end_ns);
    report.has_profile = known ? 1 : 0;
  }
  if (trace.past) {
    const std::uint64_t begun = std::max(trace.submitted_ns, trace.past->told_end(now));
    if (trace.pace && status >= 0) trace.pace->ended(now - std::min(now, begun), trace.work_items, 1);
  }
  tell_trace(report);
}

void Session::report_trace(const TraceSpan& span, std::int32_t status) {
  const std::uint64_t now = host_time_ns();
  const std::uint64_t begun = std::max(span.begun_ns, span.progress->told_end(now));
  for (const Ref<KernelPace>& pace : span.paces) {
    if (pace) pace->ended((now - std::min(now, begun)) / span.count, 0, span.count);
  }
  tell_trace({span.last, span.count - 1, status, 0, span.begun_ns, span.begun_ns, now, 0, 0});
}

void Session::tell_trace(const CommandTraced& report) {
  outbox_.add_lazily(report);
  if (trace_hurried_) outbox_.hurry();  // looked at after the report is there: FlushTrace sees one or the other
  outbox_.flush();
}

}  // namespace remotecl::server
