#include "server/isolation/link_messages.h"

#include <algorithm>

#include "server/peer/peer_table.h"

namespace remotecl::server {

std::optional<LinkDialer::Wanted> DialMessage::wanted() const {
  LinkDialer::Wanted wanted;
  wanted.request = {role, {session, epoch, secret}, features};
  if (carries_on != 0) wanted.request.received = received;
  if (!key_pin.empty()) {
    if (key_pin.size() != sizeof(KeyPin)) return std::nullopt;
    std::copy_n(key_pin.begin(), sizeof(KeyPin), std::as_writable_bytes(std::span(wanted.pin.emplace())).begin());
  }
  bool is_possible = !addresses.empty() && addresses.size() <= PeerTable::kAddressesMax;
  addresses.for_each([&](const PeerAddress& address) {
    is_possible = is_possible && address.host.size() <= PeerTable::kHostMax;
    if (is_possible) wanted.addresses.push_back({std::string(address.host), address.port});
  });
  return is_possible ? std::optional(std::move(wanted)) : std::nullopt;
}

}  // namespace remotecl::server
