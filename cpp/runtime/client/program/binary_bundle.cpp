#include "runtime/client/program/binary_bundle.h"

#include <algorithm>
#include <array>

#include "runtime/client/program/sealed_content.h"

namespace remotecl {
namespace {

constexpr std::array<std::uint8_t, 8> kBundleMagic = {0x7F, 'r', 'e', 'm', 'o', 't', 's', '\n'};
constexpr std::uint32_t kBundleVersion = 1;

struct BundlePart {
  std::string_view device;
  Bytes binary;
  REMOTECL_FIELDS(device, binary)
};
struct BundleContent {
  Sequence<BundlePart> parts;
  REMOTECL_FIELDS(parts)
};

std::string kind_of(const Device& device) {
  return device.text(CL_DEVICE_NAME) + "\n" + device.text(CL_DRIVER_VERSION) + "\n" + device.text(CL_DEVICE_VERSION);
}

}  // namespace

std::vector<std::byte> pack_bundle(const std::vector<Device*>& members,
                                   const std::vector<std::vector<std::byte>>& binaries) {
  std::vector<std::string> kinds;
  kinds.reserve(members.size());
  for (const Device* member : members) kinds.push_back(kind_of(*member));
  std::vector<BundlePart> parts;
  parts.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) parts.push_back({kinds[i], Bytes(binaries[i])});
  const BundleContent content{std::span<const BundlePart>(parts)};
  return seal(kBundleMagic, kBundleVersion, content);
}

std::vector<std::vector<std::byte>> unpack_bundle(const std::vector<Device*>& members, Bytes bundle) {
  Decoder decoder(bundle);
  SealedHeading heading{};
  if (!decoder.read(heading) || heading.magic != kBundleMagic) throw BinaryError("it is not for an automatic device");
  if (heading.version != kBundleVersion) throw BinaryError("its format is that of another version of remotecl");
  if (heading.digest != sha256(bundle.subspan(kSealedHeadingSize))) throw BinaryError("it has been changed or cut off");
  BundleContent content;
  if (!decoder.read(content) || !decoder.at_end()) throw BinaryError("its content is not what its format says");
  std::vector<std::vector<std::byte>> binaries;
  for (const Device* member : members) {
    const std::string kind = kind_of(*member);
    bool is_known = false;
    std::vector<std::byte>& binary = binaries.emplace_back();
    content.parts.for_each([&](const BundlePart& part) {
      if (std::exchange(is_known, is_known || part.device == kind) || !is_known) return;
      binary.assign(part.binary.begin(), part.binary.end());
    });
    if (!is_known) throw BinaryError("it has nothing for " + member->text(CL_DEVICE_NAME));
  }
  return binaries;
}

}  // namespace remotecl
