// Tracing: the client is told when the commands that it names were received, went to the driver and ended.
#include "runtime/base/host_time.h"
#include "server/session.h"

namespace remotecl::server {

void Session::handle(const TraceCommand& message) {
  trace_hurried_ = false;
  issuer_.trace_next(message.record, host_time_ns());
}

void Session::handle(const FlushTrace&) {
  trace_hurried_ = true;
  outbox_.hurry();
}

void Session::report_trace(const Event& event, std::int32_t status) {
  const Event::Trace& trace = event.trace;
  CommandTraced report{trace.record, status, 0, trace.received_ns, trace.submitted_ns, host_time_ns(), 0, 0};
  if (event.profiled && status >= 0 && event.native != nullptr) {
    const auto read = [](cl_event native, cl_profiling_info name, std::uint64_t& time_ns) {
      return clGetEventProfilingInfo(native, name, sizeof time_ns, &time_ns, nullptr) == CL_SUCCESS && time_ns != 0;
    };
    const bool known = read(event.start(), CL_PROFILING_COMMAND_START, report.start_ns) &&
                       read(event.native, CL_PROFILING_COMMAND_END, report.end_ns);
    report.has_profile = known ? 1 : 0;
  }
  outbox_.add_lazily(report);
  if (trace_hurried_) outbox_.hurry();  // looked at after the report is there: FlushTrace sees one or the other
  outbox_.flush();
}

}  // namespace remotecl::server
