#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/completion/cl.h"
#include "server/driver/device.h"

namespace remotecl::server {

// Whether a program made of this text, or in this binary, calls printf by that name.
bool mentions_printf(std::string_view code);
// Whether a preprocessor may make that name out of this text: by pasting tokens, or lines, together.
bool may_hide_printf(std::string_view code);
// Whether a module of SPIR-V, where printf is a number, may call it.
bool spirv_may_print(std::string_view module);

// Asks a device's compiler, which has seen all names that were made: it does not take a source in which this one must
// not be. `options` and `headers`: what the source is compiled with. Takes as long as compiling. False only when the
// compiler knows what is asked, and finds nothing.
bool compiler_finds_printf(Device& device, std::string_view source, const std::string& options,
                           const std::vector<cl_program>& headers = {}, const std::vector<const char*>& names = {});

}  // namespace remotecl::server
