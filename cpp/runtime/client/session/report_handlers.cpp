#include "runtime/client/session/report_handlers.h"

#include "runtime/base/printable.h"
#include "runtime/client/session/session.h"
#include "runtime/client/session/trace_sink.h"

namespace remotecl {

void handle(const ReportContext& context, const EventDone& report) {
  if (const auto event = context.events.find(report.event)) {
    event->complete(report.status, report.has_profile != 0 ? &report.profile : nullptr);
  }
}

void handle(const ReportContext& context, const CommandFailed& report) {
  if (const auto event = context.events.find(report.event)) {
    event->refuse(report.status);
  } else if (const auto queue = context.queues.find(report.queue)) {
    queue->command_failed(report.status);  // there is no event to report it to
  }
  if (report.transfer == 0) return;
  context.transfers.fail(report.transfer, report.status < 0 ? report.status : CL_OUT_OF_RESOURCES);
}

void handle(const ReportContext& context, const CommandTraced& report) {
  if (TraceSink* const trace = TraceSink::current()) trace->report(context.session, report);
}

void handle(const ReportContext& context, const ReadData& report) {
  if (context.transfers.take_bytes(report.transfer, report.data)) return;
  context.session.lose("the server sent a read of the wrong size");
}

void handle(const ReportContext& context, const TransferSize& report) {
  if (context.transfers.set_size(report.transfer, report.size)) return;
  context.session.lose("the server sent a read of the wrong size");
}

void handle(const ReportContext& context, const PullTransfer& report) { context.transfers.pull(report.transfer); }

void handle(const ReportContext& context, const ChunksFound& report) {
  if (context.transfers.take_reply(report)) return;
  context.session.lose("the server has answered an offer that was not made");
}

void handle(const ReportContext& context, const PushesTaken& report) {
  BulkChannel* const channel = context.connection.channels().find(report.channel);
  if (channel != nullptr && channel->pushes().taken(report.bytes)) return;
  context.session.lose("the server has taken more than was sent to it");
}

void handle(const ReportContext& context, const ServerReceived& report) {
  if (context.connection.acknowledged(report)) return;
  context.session.lose("the server has received more than was sent to it");
}

void handle(const ReportContext& context, const PeerState& report) {
  context.session.group().links.report(context.session, report);
}

void handle(const ReportContext& context, const SignalUndelivered& report) {
  context.session.group().links.undelivered(context.session, report);
}

void handle(const ReportContext& context, const KernelOutput& report) { context.kernel_text.add(report.text); }

void handle(const ReportContext& context, const DeviceLoads& report) { context.loads.report(context.session, report); }

void handle(const ReportContext& context, const SessionError& report) {
  // The server only sees that a stream has ended which this side had to give up.
  const std::string own = context.connection.own_reason();
  context.session.lose("the server said: " + printable(report.text) + (own.empty() ? "" : "; " + own));
}

}  // namespace remotecl
