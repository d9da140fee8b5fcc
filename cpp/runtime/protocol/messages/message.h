#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/protocol/codec.h"
#include "runtime/protocol/message_codes.h"

// The common part of all messages. The client chooses the ids of objects and events; they are unique within the
// session, never 0 and never reused.
namespace remotecl {

using ObjectId = std::uint64_t;
using EventId = std::uint64_t;
using TransferId = std::uint64_t;
using Token = std::uint64_t;
using PeerId = std::uint32_t;  // another server of the same client; 0: none
using LinkId = std::uint64_t;  // an attempt to link two servers, and the resulting link
using PipeId = std::uint64_t;  // one end of a connection between kernels, chosen by its server for one link; 0: none
using Extent = std::array<std::uint64_t, 3>;

// The first line of every message: its code, from commands.def.
#define REMOTECL_MESSAGE(name) static constexpr std::uint16_t kCode = Code::k##name

}  // namespace remotecl
