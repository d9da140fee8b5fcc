#pragma once

#include <array>
#include <cstddef>

#include "runtime/base/bytes.h"

namespace remotecl::server {

class Session;

// The handler of each message code, or null for an unknown code. Runs with the session's lock. Throws
// ProtocolError, HeldTooMuch.
using Handler = void (*)(Session&, Bytes payload);
constexpr std::size_t kMessageCodesMax = 160;
using HandlerTable = std::array<Handler, kMessageCodesMax>;

}  // namespace remotecl::server
