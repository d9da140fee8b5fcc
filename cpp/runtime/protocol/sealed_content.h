#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/crypto/digest.h"
#include "runtime/protocol/codec.h"

namespace remotecl {

// The heading of a binary that is made here and not by a driver. Its digest finds accidents; it proves nothing about
// who has made the binary.
using SealMagic = std::array<std::uint8_t, 8>;
struct SealedHeading {
  SealMagic magic;
  std::uint32_t version;
  Digest digest;  // of everything behind the heading
  REMOTECL_FIELDS(magic, version, digest)
};
inline constexpr std::size_t kSealedHeadingSize = 44;

// Says what is wrong with a binary.
struct BinaryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The encoded content behind its heading.
template <class Content>
std::vector<std::byte> seal(const SealMagic& magic, std::uint32_t version, const Content& content) {
  std::vector<std::byte> binary(kSealedHeadingSize + wire::encoded_size(content));
  std::byte* at = binary.data() + kSealedHeadingSize;
  wire::encode(at, content);
  at = binary.data();
  wire::encode(at, SealedHeading{magic, version, sha256(Bytes(binary).subspan(kSealedHeadingSize))});
  return binary;
}

inline bool is_sealed_as(const SealMagic& magic, Bytes binary) {
  return binary.size() >= magic.size() && std::memcmp(binary.data(), magic.data(), magic.size()) == 0;
}

// Reads the content of a binary that begins with the magic; it refers to the binary. Throws BinaryError.
template <class Content>
Content unseal(std::uint32_t version, Bytes binary) {
  Decoder decoder(binary);
  SealedHeading heading{};
  if (!decoder.read(heading)) throw BinaryError("it is cut off");
  if (heading.version != version) {
    throw BinaryError("its format has version " + std::to_string(heading.version) + ", this remotecl reads version " +
                      std::to_string(version) + ": build the program from source");
  }
  if (heading.digest != sha256(binary.subspan(kSealedHeadingSize))) throw BinaryError("it has been changed or cut off");
  Content content{};
  if (!decoder.read(content) || !decoder.at_end()) throw BinaryError("its content is not what its format says");
  return content;
}

}  // namespace remotecl
