// What a client decodes: all messages of servers.
#include "decoders.h"

using namespace remotecl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::decode_stream(std::as_bytes(std::span(data, size)), [](std::uint16_t code, Bytes payload) {
    switch (code) {
#define REMOTECL_COMMAND(name, number, thread)
#define REMOTECL_REPORT(name, number) \
  case number:                        \
    return fuzz::check_message<name>(payload);
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
      default:
        return;
    }
  });
  return 0;
}
