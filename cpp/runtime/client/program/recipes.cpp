#include "runtime/client/program/recipes.h"

#include <algorithm>

#include "runtime/protocol/device_figures.h"

namespace remotecl {
namespace {

std::string in_one_line(std::string kind) {
  std::replace(kind.begin(), kind.end(), '\n', ' ');
  return kind;
}

bool is_too_deep(const ProgramRecipe& recipe) {
  try {
    check_parts(recipe);
    return false;
  } catch (const BinaryError&) {
    return true;
  }
}

}  // namespace

std::string kind_of(const Device& device) {
  const auto* const platform = device.platform_info(CL_PLATFORM_NAME);
  std::string kind = platform == nullptr ? std::string() : std::string(as_text(*platform));
  while (!kind.empty() && kind.back() == '\0') kind.pop_back();
  for (const cl_device_info name : {CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_VERSION}) {
    kind += '\n' + device.text(name);
  }
  return kind;
}

Recipes recipes_for(const std::vector<Device*>& devices, ProgramRecipe recipe) {
  Recipes recipes;
  const bool may_be_sent = !is_too_deep(recipe);
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> by_kind;
  for (Device* const device : devices) {
    if (device->root().number<cl_uint>(kDeviceHasBinaries) != 0) continue;
    const auto [at, is_new] = by_kind.try_emplace(kind_of(*device));
    if (is_new && may_be_sent) {
      recipe.device = at->first;
      auto sealed = seal(kRecipeMagic, kRecipeVersion, recipe);
      if (sealed.size() <= kProgramSizeMax) {
        at->second = std::make_shared<const std::vector<std::byte>>(std::move(sealed));
      }
    }
    recipes[device] = at->second;
  }
  return recipes;
}

void check_recipe(Bytes binary, const Device& device) {
  const ProgramRecipe recipe = open_recipe(binary);
  check_parts(recipe);
  if (const std::string kind = kind_of(device); recipe.device != kind) {
    throw BinaryError("it is for \"" + in_one_line(std::string(recipe.device)) + "\", not for \"" + in_one_line(kind) +
                      "\": build the program from source");
  }
}

}  // namespace remotecl
