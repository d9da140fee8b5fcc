#pragma once

#include <string>
#include <vector>

#include "runtime/client/split/proof/token.h"

namespace remotecl::proof {

// The tokens of a program in OpenCL C, ended by one of kind kEnd. `options`: of its build.
//
// Follows macros that stand for one token, of the source and of `-D`. The names of all others become tokens of kind
// kMacro. Throws NotProven at what may change the meaning of the rest: conditions, #include, #undef, digraphs, options
// that are not known.
std::vector<Token> tokenize(const std::string& source, const std::string& options);

}  // namespace remotecl::proof
