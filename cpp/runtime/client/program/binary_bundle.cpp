#include "runtime/client/program/binary_bundle.h"

#include <algorithm>
#include <array>

#include "runtime/client/program/recipes.h"

namespace remotecl {
namespace {

constexpr SealMagic kBundleMagic = {0x7F, 'r', 'e', 'm', 'o', 't', 's', '\n'};
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
  if (!is_sealed_as(kBundleMagic, bundle)) throw BinaryError("it is not for an automatic device");
  const auto content = unseal<BundleContent>(kBundleVersion, bundle);
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
