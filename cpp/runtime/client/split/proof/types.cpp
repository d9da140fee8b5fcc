#include "runtime/client/split/proof/types.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace remotecl::proof {
namespace {

struct Scalar {
  std::string_view name;
  Type type;
};
using enum Type::Kind;
// A device whose size_t has 4 bytes is refused at the launch.
constexpr std::array<Scalar, 16> kScalars{{{"char", {kInteger, true, 1}},
                                           {"uchar", {kInteger, false, 1}},
                                           {"short", {kInteger, true, 2}},
                                           {"ushort", {kInteger, false, 2}},
                                           {"int", {kInteger, true, 4}},
                                           {"uint", {kInteger, false, 4}},
                                           {"long", {kInteger, true, 8}},
                                           {"ulong", {kInteger, false, 8}},
                                           {"half", {kFloating, true, 2}},
                                           {"float", {kFloating, true, 4}},
                                           {"double", {kFloating, true, 8}},
                                           {"bool", {kInteger, false, 1, 1, false}},
                                           {"size_t", {kInteger, false, 8, 1, false}},
                                           {"ptrdiff_t", {kInteger, true, 8, 1, false}},
                                           {"intptr_t", {kInteger, true, 8, 1, false}},
                                           {"uintptr_t", {kInteger, false, 8, 1, false}}}};
constexpr std::array<std::string_view, 5> kCounts{"2", "3", "4", "8", "16"};
constexpr std::array<std::uint32_t, 5> kCountNumbers{2, 3, 4, 8, 16};

}  // namespace

Interval Type::values() const {
  if (bytes == 8) {
    return {is_signed ? std::numeric_limits<std::int64_t>::min() : 0, std::numeric_limits<std::int64_t>::max()};
  }
  if (is_signed) return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  return {0, std::numeric_limits<std::uint32_t>::max()};
}

std::optional<Type> type_named(const std::string& word) {
  for (const Scalar& scalar : kScalars) {
    if (!word.starts_with(scalar.name)) continue;
    const std::string_view rest = std::string_view(word).substr(scalar.name.size());
    if (rest.empty()) return scalar.type;
    const auto count = std::ranges::find(kCounts, rest);
    if (count == kCounts.end() || !scalar.type.is_fixed_size) continue;
    Type vector = scalar.type;
    vector.count = kCountNumbers[static_cast<std::size_t>(count - kCounts.begin())];
    return vector;
  }
  return std::nullopt;
}

Type common_type(Type a, Type b) {
  for (Type* type : {&a, &b}) {
    if (type->bytes < 4) *type = {};
  }
  if (a.bytes != b.bytes) return a.bytes > b.bytes ? a : b;
  return a.is_signed ? b : a;
}

}  // namespace remotecl::proof
