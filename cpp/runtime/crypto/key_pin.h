#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remotecl {

// Identifies a certificate's owner: the SHA-256 of its public key (SubjectPublicKeyInfo). A renewed
// certificate for the same key has the same pin.
using KeyPin = std::array<std::uint8_t, 32>;

std::string pin_text(const KeyPin& pin);  // "sha256:" and 64 hexadecimal digits
// The inverse of pin_text(); empty for other texts.
std::optional<KeyPin> parse_pin(std::string_view text);

// A certificate that the peer has presented, with proof that it has the key.
struct PeerCertificate {
  KeyPin key;
  std::string objection;  // why it is not trusted; empty if it is
};

}  // namespace remotecl
