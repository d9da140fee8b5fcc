#pragma once

#include <set>
#include <span>
#include <string>

#include "runtime/client/split/proof/token.h"

namespace remotecl::proof {

// Where a kernel is in a program.
struct KernelText {
  std::span<const Token> parameters;  // between the brackets
  std::span<const Token> body;        // with its braces
  std::set<std::string> declared;     // names that the program itself declares outside of brackets
};

// Throws NotProven if there is not exactly one definition of the kernel.
KernelText find_kernel(std::span<const Token> tokens, const std::string& name);

// The position behind the bracket that closes the one at `open`.
std::size_t behind_brackets(std::span<const Token> tokens, std::size_t open);

}  // namespace remotecl::proof
