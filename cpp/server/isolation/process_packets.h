#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/isolation/session_channel.h"

namespace remotecl::server {

// What the process of a session may send to the daemon, and when. The README has the same table, with what each packet
// can lead to. Kernels on a CPU can make the process send anything, so whatever is not in the table ends it.

enum class ProcessState : std::uint8_t {
  kStarting = 1,  // it contains itself and opens the driver
  kSpare = 2,     // it waits for its session
  kServing = 4,   // from kBegin on
  kEnded = 8,     // from kEnded on, while it saves builds
};

struct PacketRule {
  PacketType type;
  const char* name;
  std::uint8_t states;  // in which it is allowed
  std::size_t descriptors = 0;

  bool allows(ProcessState state) const { return (states & static_cast<std::uint8_t>(state)) != 0; }
};

namespace packet_states {
inline constexpr auto kStarting = static_cast<std::uint8_t>(ProcessState::kStarting);
inline constexpr auto kServing = static_cast<std::uint8_t>(ProcessState::kServing);
inline constexpr auto kFromBegin =
    static_cast<std::uint8_t>(kServing | static_cast<std::uint8_t>(ProcessState::kEnded));
}  // namespace packet_states

inline constexpr std::array kPacketRules{
    PacketRule{PacketType::kReady, "kReady", packet_states::kStarting},
    PacketRule{PacketType::kReport, "kReport", packet_states::kFromBegin},
    PacketRule{PacketType::kEnded, "kEnded", packet_states::kServing},
    PacketRule{PacketType::kDial, "kDial", packet_states::kServing},
    PacketRule{PacketType::kOpen, "kOpen", packet_states::kServing},
    PacketRule{PacketType::kFind, "kFind", packet_states::kServing},
    PacketRule{PacketType::kKeep, "kKeep", packet_states::kFromBegin, 1},
    PacketRule{PacketType::kOpenUpload, "kOpenUpload", packet_states::kServing},
    PacketRule{PacketType::kKeepUpload, "kKeepUpload", packet_states::kServing, 1},
    PacketRule{PacketType::kDoubtUpload, "kDoubtUpload", packet_states::kServing},
    PacketRule{PacketType::kOwner, "kOwner", packet_states::kServing},
    PacketRule{PacketType::kOpenSocket, "kOpenSocket", packet_states::kServing},
    PacketRule{PacketType::kWatchLoads, "kWatchLoads", packet_states::kFromBegin},
    PacketRule{PacketType::kLoads, "kLoads", packet_states::kFromBegin},
    PacketRule{PacketType::kClaim, "kClaim", packet_states::kFromBegin},
};

// Empty if the process may send this packet now; otherwise what it did wrong, as a predicate. Whether the payload is
// right the caller finds out.
std::string objection(const SessionChannel::Packet& packet, ProcessState state);
// The predicate for a payload that is not what its type demands.
std::string malformed(PacketType type);

}  // namespace remotecl::server
