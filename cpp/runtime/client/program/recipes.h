#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/client/objects/device.h"
#include "runtime/protocol/program_recipe.h"

namespace remotecl {

// The names of a device, its driver and their versions. Equal ones take each other's programs, so far as a client
// knows.
std::string kind_of(const Device& device);

// Sealed recipes that stand for the binaries of a program. Has no device whose driver has binaries.
using Recipes = std::map<const Device*, std::shared_ptr<const std::vector<std::byte>>>;

// `recipe`: what the program is made of on each of the devices, without a device. Deterministic. Has none if it would
// be too large to be sent, or too deep.
Recipes recipes_for(const std::vector<Device*>& devices, ProgramRecipe recipe);

// Throws BinaryError unless the device's server can make the program of this recipe.
void check_recipe(Bytes binary, const Device& device);

}  // namespace remotecl
