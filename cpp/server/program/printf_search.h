#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/completion/cl.h"
#include "server/driver/device.h"

namespace remotecl::server {

// Returns true if a program with this binary, or this text of SPIR-V names, calls printf by that name.
bool mentions_printf(std::string_view code);
// Returns true if a program with this source may call printf: it has the name outside of its comments, or a
// preprocessor may make it by joining tokens or lines.
bool source_may_print(std::string_view source);
// Returns true if a SPIR-V module, where printf is a number, may call it.
bool spirv_may_print(std::string_view module);

// Asks a device's compiler, which sees all names after preprocessing: it rejects a source that uses a name
// poisoned by this function. `options` and `headers` belong to the source. Takes as long as compiling.
// Returns false only if the compiler knows the pragma and finds nothing.
bool compiler_finds_printf(Device& device, std::string_view source, const std::string& options,
                           const std::vector<cl_program>& headers = {}, const std::vector<const char*>& names = {});

}  // namespace remotecl::server
