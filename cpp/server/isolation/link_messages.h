#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/crypto/secret.h"
#include "runtime/protocol/messages/peer.h"
#include "server/peer/link_dialer.h"

namespace remotecl::server {

// Of kDial: a connection of a link. As LinkDialer::dial().
struct DialMessage {
  std::uint64_t number;  // repeated in the answer
  Role role;
  std::uint64_t session, epoch;
  Secret secret;
  std::uint64_t features;
  std::uint32_t carries_on;  // 1: a stream of which `received` bytes have come
  std::uint64_t received;
  Sequence<PeerAddress> addresses;
  Bytes key_pin;  // empty: in plain text
  std::uint32_t timeout_ms, patience_ms;
  REMOTECL_FIELDS(number, role, session, epoch, secret, features, carries_on, received, addresses, key_pin, timeout_ms,
                  patience_ms)

  // Nothing if the message cannot be meant.
  std::optional<LinkDialer::Wanted> wanted() const;
};

// The answer, with the connection if the other server has accepted it.
struct DialedMessage {
  std::uint64_t number;
  std::string_view failure;  // text for people
  std::uint32_t is_gone;     // 1: the stream cannot be carried on
  std::uint64_t features, received;
  Secret stripes_key;
  PeerAddress address;
  REMOTECL_FIELDS(number, failure, is_gone, features, received, stripes_key, address)
};

}  // namespace remotecl::server
