#pragma once

#include <array>
#include <cstddef>

#include "runtime/base/bytes.h"

namespace remotecl::server {

class Session;

// What becomes of a message, by its code; null where there is none such. Runs with the session's lock. Throws
// ProtocolError, HeldTooMuch.
using Handler = void (*)(Session&, Bytes payload);
constexpr std::size_t kMessageCodesMax = 128;
using HandlerTable = std::array<Handler, kMessageCodesMax>;

}  // namespace remotecl::server
