#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/crypto/digest.h"
#include "runtime/protocol/codec.h"

namespace remotecl {

// The header of every binary that the client packs itself.
struct SealedHeading {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  Digest digest;  // of everything behind the heading
  REMOTECL_FIELDS(magic, version, digest)
};
inline constexpr std::size_t kSealedHeadingSize = 44;

// The encoded content behind its heading.
template <class Content>
std::vector<std::byte> seal(const std::array<std::uint8_t, 8>& magic, std::uint32_t version, const Content& content) {
  std::vector<std::byte> binary(kSealedHeadingSize + wire::encoded_size(content));
  std::byte* at = binary.data() + kSealedHeadingSize;
  wire::encode(at, content);
  at = binary.data();
  wire::encode(at, SealedHeading{magic, version, sha256(Bytes(binary).subspan(kSealedHeadingSize))});
  return binary;
}

}  // namespace remotecl
