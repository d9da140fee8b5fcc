#pragma once

#include "runtime/protocol/messages/message.h"

// When commands were received, handed to the driver and ended, for a client that traces.
namespace remotecl {

// A caller waits for the times: sends those collected so far, and later ones at once.
struct FlushTrace {
  REMOTECL_MESSAGE(FlushTrace);
  REMOTECL_FIELDS()
};
// The times of one command.
struct CommandTraced {
  REMOTECL_MESSAGE(CommandTraced);
  std::uint64_t number;        // traced commands of a session are numbered from 1
  std::int32_t status;         // CL_COMPLETE or a negative error
  std::uint32_t has_profile;   // whether `start_ns` and `end_ns` are known
  std::uint64_t received_ns;   // these three are in the server's clock
  std::uint64_t submitted_ns;  // when it was handed to the native driver; 0: it was not
  std::uint64_t ended_ns;      // when the server noticed
  std::uint64_t start_ns;      // these two are in the device's clock, as profiles are
  std::uint64_t end_ns;
  std::uint32_t transport;  // what carried its bulk data: a TransportKind
  REMOTECL_FIELDS(number, status, has_profile, received_ns, submitted_ns, ended_ns, start_ns, end_ns, transport)
};

}  // namespace remotecl
