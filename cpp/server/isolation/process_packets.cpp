#include "server/isolation/process_packets.h"

#include <algorithm>

#include "server/util/format.h"

namespace remotecl::server {
namespace {

const PacketRule* rule_of(PacketType type) {
  const auto at = std::ranges::find(kPacketRules, type, &PacketRule::type);
  return at == kPacketRules.end() ? nullptr : &*at;
}

const char* words(ProcessState state) {
  switch (state) {
    case ProcessState::kStarting:
      return "before it was ready";
    case ProcessState::kSpare:
      return "before it had a session";
    case ProcessState::kServing:
      return "while it had a session";
    case ProcessState::kEnded:
      break;
  }
  return "after its session's end";
}

}  // namespace

std::string objection(const SessionChannel::Packet& packet, ProcessState state) {
  if (packet.type == PacketType::kUnreadable) {
    return "sent a packet that is too short or too long";
  }
  const PacketRule* const rule = rule_of(packet.type);
  if (rule == nullptr) {
    return format_text("sent a packet of type {}, which no process may send", static_cast<std::uint32_t>(packet.type));
  }
  if (!rule->allows(state)) return format_text("sent {} {}", rule->name, words(state));
  const bool has_lost_them = packet.lacks_descriptors && rule->descriptors != 0;  // there was no room for them here
  if (packet.descriptors.size() != rule->descriptors && !has_lost_them) {
    return format_text("sent {} with {} descriptors instead of {}", rule->name, packet.descriptors.size(),
                       rule->descriptors);
  }
  return "";
}

std::string malformed(PacketType type) {
  const PacketRule* const rule = rule_of(type);
  return format_text("sent {} with other fields than it has", rule != nullptr ? rule->name : "a packet");
}

}  // namespace remotecl::server
