#pragma once

#include <cstdint>
#include <string_view>

namespace remotecl {

// Numbers of the messages on the control connection, from commands.def.
struct Code {
  enum : std::uint16_t {
#define REMOTECL_COMMAND(name, number, place) k##name = number,
#define REMOTECL_REPORT(name, number) k##name = number,
#define REMOTECL_PEER_MESSAGE(name, number) k##name = number,
#include "runtime/protocol/commands.def"
  };
};

// Name of a message for logs and traces; "unknown" for a number that is not ours.
constexpr std::string_view message_name(std::uint16_t code) {
  switch (code) {
#define REMOTECL_COMMAND(name, number, place) \
  case number:                                \
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
