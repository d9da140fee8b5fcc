// What a server decodes: all messages of clients and of other servers.
#include "decoders.h"

using namespace remotecl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::decode_stream(std::as_bytes(std::span(data, size)), [](std::uint16_t code, Bytes payload) {
    switch (code) {
#define REMOTECL_COMMAND(name, number, thread) \
  case number:                                 \
    return fuzz::check_message<name>(payload);
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number) \
  case number:                              \
    return fuzz::check_message<name>(payload);
#include "runtime/protocol/commands.def"
      case Code::kPullTransfer:  // between servers, too
        return fuzz::check_message<PullTransfer>(payload);
      default:
        return;
    }
  });
  return 0;
}
