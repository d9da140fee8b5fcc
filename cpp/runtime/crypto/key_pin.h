#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remotecl {

// What a certificate's owner is known by: the SHA-256 of its public key (SubjectPublicKeyInfo). A certificate that is
// made anew for the same key has the same.
using KeyPin = std::array<std::uint8_t, 32>;

std::string pin_text(const KeyPin& pin);  // "sha256:" and 64 hexadecimal digits
// The reverse; empty for anything else.
std::optional<KeyPin> parse_pin(std::string_view text);

// A certificate that the other side of a connection has shown, and has proved to have the key of.
struct PeerCertificate {
  KeyPin key;
  std::string objection;  // why it is not to be trusted; empty: it is what was asked for
};

}  // namespace remotecl
