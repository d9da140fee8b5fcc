#pragma once

#include <cstdint>
#include <string_view>

namespace remotecl {

// The message codes of the control connection, from commands.def.
struct Code {
  enum : std::uint16_t {
#define REMOTECL_COMMAND(name, number, thread) k##name = number,
#define REMOTECL_REPORT(name, number) k##name = number,
#define REMOTECL_PEER_MESSAGE(name, number) k##name = number,
#include "runtime/protocol/commands.def"
  };
};

// The message's name for logs and traces; "unknown" for other codes.
constexpr std::string_view message_name(std::uint16_t code) {
  switch (code) {
#define REMOTECL_COMMAND(name, number, thread) \
  case number:                                 \
    return #name;
#define REMOTECL_REPORT(name, number) \
  case number:                        \
    return #name;
#define REMOTECL_PEER_MESSAGE(name, number) \
  case number:                              \
    return #name;
#include "runtime/protocol/commands.def"
    default:
      return "unknown";
  }
}

}  // namespace remotecl
