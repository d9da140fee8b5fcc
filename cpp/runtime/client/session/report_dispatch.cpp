#include <array>
#include <concepts>
#include <cstddef>
#include <string>

#include "runtime/client/session/report_handlers.h"
#include "runtime/client/session/session.h"

namespace remotecl {
namespace {

using Handler = void (*)(const ReportContext&, Bytes payload);
constexpr std::uint16_t kFirstReport = 1000;
constexpr std::size_t kReportCodesMax = 128;

// A reply begins with the token of its request.
template <class Report>
concept Reply = requires(const Report& report) {
  { report.token } -> std::convertible_to<Token>;
};

// The first message of a session, and the reply to a Monitor. Neither is valid in a running session.
template <class Report>
concept Foreign = std::same_as<Report, DeviceList> || std::same_as<Report, SessionKicked>;

template <class Report>
void take(const ReportContext& context, Bytes payload) {
  Report report{};
  if (!Decoder(payload).read(report)) {
    return context.session.lose("the server sent a malformed " + std::string(message_name(Report::kCode)));
  }
  if constexpr (Reply<Report>) {
    context.replies.deliver(report.token, Report::kCode, payload);
  } else {
    handle(context, report);
  }
}

template <class Report>
constexpr Handler handler_of() {
  if constexpr (Foreign<Report>) {
    return nullptr;
  } else {
    return &take<Report>;
  }
}

constexpr std::array<Handler, kReportCodesMax> make_table() {
  std::array<Handler, kReportCodesMax> table{};
#define REMOTECL_COMMAND(name, number, thread)
#define REMOTECL_REPORT(name, number) table[number - kFirstReport] = handler_of<name>();
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
  return table;
}

constexpr std::array<Handler, kReportCodesMax> kTable = make_table();

}  // namespace

void dispatch_report(const ReportContext& context, std::uint16_t code, Bytes payload) {
  const std::size_t index = std::size_t{code} - kFirstReport;
  const Handler handler = index < kTable.size() ? kTable[index] : nullptr;
  if (handler == nullptr) {
    return context.session.lose("the server sent an unknown message (" + std::to_string(code) + ")");
  }
  handler(context, payload);
}

}  // namespace remotecl
