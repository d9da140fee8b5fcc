#include <string>

#include "runtime/client/session/report_handlers.h"
#include "runtime/client/session/session.h"

namespace remotecl {

void dispatch_report(const ReportContext& context, std::uint16_t code, Bytes payload) {
  Decoder decoder(payload);
  const auto with = [&]<class Report>(Report report) {
    if (!decoder.read(report)) {
      return context.session.lose("the server sent a malformed " + std::string(message_name(code)));
    }
    if constexpr (requires { report.token; }) {
      context.replies.deliver(report.token, code, payload);
    } else {
      handle(context, report);
    }
  };
  switch (code) {
    case Code::kFinished:
      return with(Finished{});
    case Code::kPong:
      return with(Pong{});
    case Code::kStatus:
      return with(Status{});
    case Code::kSubDevices:
      return with(SubDevices{});
    case Code::kClock:
      return with(Clock{});
    case Code::kBuildDone:
      return with(BuildDone{});
    case Code::kCommandBufferState:
      return with(CommandBufferState{});
    case Code::kProgramBinary:
      return with(ProgramBinary{});
    case Code::kNativeAnswer:
      return with(NativeAnswer{});
    case Code::kSvmAllocated:
      return with(SvmAllocated{});
    case Code::kImageFormats:
      return with(ImageFormats{});
    case Code::kEventDone:
      return with(EventDone{});
    case Code::kCommandFailed:
      return with(CommandFailed{});
    case Code::kCommandTraced:
      return with(CommandTraced{});
    case Code::kReadData:
      return with(ReadData{});
    case Code::kTransferSize:
      return with(TransferSize{});
    case Code::kPullTransfer:
      return with(PullTransfer{});
    case Code::kPushesTaken:
      return with(PushesTaken{});
    case Code::kServerReceived:
      return with(ServerReceived{});
    case Code::kPeerState:
      return with(PeerState{});
    case Code::kSignalUndelivered:
      return with(SignalUndelivered{});
    case Code::kKernelOutput:
      return with(KernelOutput{});
    case Code::kSessionError:
      return with(SessionError{});
    default:
      context.session.lose("the server sent an unknown message (" + std::to_string(code) + ")");
  }
}

}  // namespace remotecl
