#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/layout.h"
#include "net_cl.inc"

namespace remotecl::server {
namespace {

constexpr std::pair<std::string_view, std::uint32_t> kConstants[] = {
    {"MAGIC", layout::kMagic},
    {"LINE_SIZE", layout::kLineSize},
    {"REQUEST_SIZE", layout::kRequestSize},
    {"MAGIC_AT", layout::kMagicAt},
    {"SOCKETS_AT", layout::kSocketsAt},
    {"RING_BYTES_AT", layout::kRingBytesAt},
    {"CLAIMS_AT", layout::kClaimsAt},
    {"REQUESTS_AT", layout::kRequestsAt},
    {"SEND_TAILS_AT", layout::kSendTailsAt},
    {"RECEIVE_HEADS_AT", layout::kReceiveHeadsAt},
    {"LINES_AT", layout::kLinesAt},
    {"AREAS_AT", layout::kAreasAt},
    {"RINGS_AT", layout::kRingsAt},
    {"STOP_AT", layout::kStopAt},
    {"CLOCK_AT", layout::kClockAt},
    {"CURSOR_AT", layout::kCursorAt},
    {"REPLY", layout::kReply},
    {"VALUE", layout::kValue},
    {"ERROR", layout::kError},
    {"PORT", layout::kPort},
    {"PEER_PORT", layout::kPeerPort},
    {"PEER_IP", layout::kPeerIp},
    {"CONNECTED", layout::kConnected},
    {"LISTENING", layout::kListening},
    {"END_OF_STREAM", layout::kEndOfStream},
    {"FAILED", layout::kFailed},
    {"STOPPED", layout::kStopped},
    {"PENDING", layout::kPending},
    {"DATAGRAM", layout::kDatagram},
    {"CLOSING", layout::kClosing},
    {"OPERATION", layout::kOperation},
    {"FIRST", layout::kFirst},
    {"SECOND", layout::kSecond},
    {"TEXT_LENGTH", layout::kTextLength},
    {"TEXT_OFFSET", layout::kTextOffset},
    {"TEXT_MAX", SocketAddress::kTextMax},
    {"CONNECT", layout::kConnect},
    {"BIND", layout::kBind},
    {"ACCEPT", layout::kAccept},
    {"SHUTDOWN", layout::kShutdown},
    {"CLOSE", layout::kClose},
    {"RESOLVE", layout::kResolve},
    {"CLOSED", layout::kClosed},
    {"INDEX_BITS", layout::kIndexBits},
    {"GENERATION_MASK", layout::kGenerationMask},
    {"RECORD_HEADER", layout::kRecordHeader},
    {"RECORD_PORT", layout::kRecordPort},
    {"RECORD_IP", layout::kRecordIp},
};
// net.cl loads these four words at once.
static_assert(layout::kReceiveTail == 0 && layout::kSendHead == 1 && layout::kState == 2 && layout::kGeneration == 3);

std::string make_library() {
  std::string text = "#ifndef RCL_NET_CL\n#define RCL_NET_CL\n";
  for (const auto& [name, value] : kConstants) {
    text.append("#define RCL_I_").append(name).append(" ").append(std::to_string(value)).append("u\n");
  }
  return text.append(kNetCl).append("#endif\n");
}

}  // namespace

const std::string& KernelSocketSpace::kernel_library() {
  static const std::string library = make_library();
  return library;
}

}  // namespace remotecl::server
