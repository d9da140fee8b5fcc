#include "runtime/client/program/binary_container.h"

#include <algorithm>
#include <array>

#include "runtime/protocol/sealed_content.h"

namespace remotecl {
namespace {

constexpr SealMagic kBinaryMagic = {0x7F, 'r', 'e', 'm', 'o', 't', 'e', '\n'};
constexpr std::uint32_t kVersion = 1;
// Beside OpenCL's qualifiers of an argument's type: the application was told nothing of it.
constexpr std::uint64_t kIsHidden = std::uint64_t{1} << 63;

struct ArgumentFacts {
  ArgumentKind kind;
  std::uint32_t address;
  std::uint32_t access;
  std::uint64_t type_qualifier;
  REMOTECL_FIELDS(kind, address, access, type_qualifier)
};
struct KernelFacts {
  std::string_view name;
  Sequence<ArgumentFacts> arguments;
  REMOTECL_FIELDS(name, arguments)
};
struct Content {
  Sequence<KernelFacts> kernels;
  Bytes native;
  REMOTECL_FIELDS(kernels, native)
};

bool has_information(const KernelInfo& kernel) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [](const ArgumentInfo& argument) { return argument.address != 0; });
}

// If the driver says nothing, images and samplers of a binary look like values of a handle's size.
bool may_be(const ArgumentInfo& found, ArgumentKind kind) {
  const bool is_opaque = kind == ArgumentKind::kImage || kind == ArgumentKind::kSampler;
  return found.kind == kind || (is_opaque && found.kind == ArgumentKind::kValue && found.size % sizeof(void*) == 0);
}

}  // namespace

std::vector<std::byte> pack_binary(Bytes native, const std::map<std::string, KernelInfo>& kernels) {
  std::vector<const KernelInfo*> known;
  for (const auto& [name, kernel] : kernels) {
    if (has_information(kernel)) known.push_back(&kernel);
  }
  if (known.empty() || native.empty()) return {native.begin(), native.end()};
  std::vector<std::vector<ArgumentFacts>> arguments(known.size());
  std::vector<KernelFacts> facts;
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (const ArgumentInfo& argument : known[i]->arguments) {
      const std::uint64_t hidden = argument.info_status == CL_SUCCESS ? 0 : kIsHidden;
      arguments[i].push_back({argument.kind, argument.address, argument.access, argument.type_qualifier | hidden});
    }
    facts.push_back({known[i]->name, std::span<const ArgumentFacts>(arguments[i])});
  }
  const Content content{std::span<const KernelFacts>(facts), native};
  return seal(kBinaryMagic, kVersion, content);
}

BinaryContainer unpack_binary(Bytes binary) {
  if (!is_sealed_as(kBinaryMagic, binary)) return {{binary.begin(), binary.end()}, {}};
  const auto content = unseal<Content>(kVersion, binary);
  if (content.native.empty()) throw BinaryError("there is no binary in it");
  BinaryContainer container{{content.native.begin(), content.native.end()}, {}};
  content.kernels.for_each([&container](const KernelFacts& facts) {
    KernelInfo& kernel = container.kernels[std::string(facts.name)];
    kernel.name = facts.name;
    kernel.arguments.clear();
    facts.arguments.for_each([&kernel](const ArgumentFacts& argument) {
      ArgumentInfo& info = kernel.arguments.emplace_back();
      info.kind = argument.kind;
      info.address = argument.address;
      info.access = argument.access;
      info.type_qualifier = argument.type_qualifier & ~kIsHidden;
      info.info_status = (argument.type_qualifier & kIsHidden) == 0 ? CL_SUCCESS : CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    });
  });
  return container;
}

void complete(KernelInfo& found, const KernelInfo& contained) {
  const bool fits =
      std::equal(found.arguments.begin(), found.arguments.end(), contained.arguments.begin(), contained.arguments.end(),
                 [](const ArgumentInfo& argument, const ArgumentInfo& other) { return may_be(argument, other.kind); });
  if (!fits) return;
  for (std::size_t i = 0; i < found.arguments.size(); ++i) {
    ArgumentInfo& to = found.arguments[i];
    const ArgumentInfo& from = contained.arguments[i];
    // A driver that was asked only by the server has put it into the binary, too.
    if (from.info_status != CL_SUCCESS) to.info_status = from.info_status;
    if (to.address != 0) continue;  // the driver has said it
    to.address = from.address;
    to.access = from.access;
    to.type_qualifier = from.type_qualifier;
  }
}

}  // namespace remotecl
