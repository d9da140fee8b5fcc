#pragma once

#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/client/session/load_watch.h"
#include "runtime/client/session/reply_table.h"
#include "runtime/client/session/report_sinks.h"
#include "runtime/client/session/session_connection.h"
#include "runtime/client/session/transfer_table.h"
#include "runtime/client/support/kernel_text.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class Session;

// The parts of a session that its server's reports affect.
struct ReportContext {
  Session& session;
  SessionConnection& connection;
  TransferTable& transfers;
  ReplyTable& replies;
  SinkTable<EventSink>& events;
  SinkTable<QueueSink>& queues;
  KernelText& kernel_text;
  LoadWatch& loads;
};

// Handles one kind of report, on the reading thread. A report that breaks the protocol ends the session.
void handle(const ReportContext& context, const EventDone& report);
void handle(const ReportContext& context, const CommandFailed& report);
void handle(const ReportContext& context, const CommandTraced& report);
void handle(const ReportContext& context, const ReadData& report);
void handle(const ReportContext& context, const TransferSize& report);
void handle(const ReportContext& context, const PullTransfer& report);
void handle(const ReportContext& context, const ChunksFound& report);
void handle(const ReportContext& context, const PushesTaken& report);
void handle(const ReportContext& context, const ServerReceived& report);
void handle(const ReportContext& context, const PeerState& report);
void handle(const ReportContext& context, const SignalUndelivered& report);
void handle(const ReportContext& context, const KernelOutput& report);
void handle(const ReportContext& context, const DeviceLoads& report);
void handle(const ReportContext& context, const SessionError& report);

// Decodes and handles a message of the server.
void dispatch_report(const ReportContext& context, std::uint16_t code, Bytes payload);

}  // namespace remotecl
