#pragma once

#include "runtime/protocol/messages/message.h"

// When commands were received, handed to the driver and ended, for a client that traces.
namespace remotecl {

// Somebody waits for the times: those that have gathered are sent, and later ones at once.
struct FlushTrace {
  REMOTECL_MESSAGE(FlushTrace);
  REMOTECL_FIELDS()
};
// Of one command.
struct CommandTraced {
  REMOTECL_MESSAGE(CommandTraced);
  std::uint64_t number;        // traced commands of a session count from 1
  std::int32_t status;         // CL_COMPLETE or a negative error
  std::uint32_t has_profile;   // whether `start_ns` and `end_ns` are known
  std::uint64_t received_ns;   // these three count in the server's clock
  std::uint64_t submitted_ns;  // when it went to the native driver; 0: it did not
  std::uint64_t ended_ns;      // when the server knew
  std::uint64_t start_ns;      // these two count in the device's clock, as profiles do
  std::uint64_t end_ns;
  REMOTECL_FIELDS(number, status, has_profile, received_ns, submitted_ns, ended_ns, start_ns, end_ns)
};

}  // namespace remotecl
