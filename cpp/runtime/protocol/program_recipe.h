#pragma once

#include "runtime/protocol/messages/program.h"
#include "runtime/protocol/sealed_content.h"
#include "runtime/protocol/sizes.h"

namespace remotecl {

// What a program is made of, in place of its binary: for drivers that would have to compile all kernels to have one
// (kDeviceHasBinaries). The client makes it, because it knows all of this; the server that gets it makes the program.
enum class RecipeKind : std::uint32_t { kBuild = 0, kCompile = 1, kLink = 2, kLinkLibrary = 3 };

struct RecipeConstant {
  std::uint32_t constant;
  Bytes value;
  REMOTECL_FIELDS(constant, value)
};
struct RecipePart {
  std::string_view name;  // of a text that is included; else empty
  Bytes content;          // that text, or the sealed recipe of a program that is linked
  REMOTECL_FIELDS(name, content)
};
struct ProgramRecipe {
  std::string_view device;  // the kind of the device and its driver
  RecipeKind kind;
  std::uint32_t is_il;  // whether `code` is intermediate language or source
  Bytes code;
  std::string_view options;
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
  Sequence<RecipeConstant> constants;
  Sequence<RecipePart> parts;
  REMOTECL_FIELDS(device, kind, is_il, code, options, include_folders, headers, constants, parts)
};

inline constexpr SealMagic kRecipeMagic = {0x7F, 'r', 'e', 'm', 'o', 't', 'p', '\n'};
inline constexpr std::uint32_t kRecipeVersion = 1;
// Libraries are linked from libraries; each level is a call deeper on the server. Deeper ones have the driver's binary.
inline constexpr unsigned kRecipeDepthMax = 8;

inline bool is_recipe(Bytes binary) { return is_sealed_as(kRecipeMagic, binary); }

// Refers to the binary. Throws BinaryError, but does not look into the recipes of linked programs.
inline ProgramRecipe open_recipe(Bytes binary) {
  const auto recipe = unseal<ProgramRecipe>(kRecipeVersion, binary);
  if (recipe.kind > RecipeKind::kLinkLibrary || recipe.is_il > 1) {
    throw BinaryError("its content is not what its format says");
  }
  return recipe;
}

inline bool makes_executable(const ProgramRecipe& recipe) {
  return recipe.kind == RecipeKind::kBuild || recipe.kind == RecipeKind::kLink;
}

// Checks the recipes of linked programs, too. Throws BinaryError.
inline void check_parts(const ProgramRecipe& recipe, unsigned level = 1) {
  if (level > kRecipeDepthMax) throw BinaryError("it has too many libraries in libraries");
  if (recipe.kind != RecipeKind::kLink && recipe.kind != RecipeKind::kLinkLibrary) return;
  recipe.parts.for_each([level](const RecipePart& part) { check_parts(open_recipe(part.content), level + 1); });
}

}  // namespace remotecl
