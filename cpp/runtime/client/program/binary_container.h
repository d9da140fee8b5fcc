#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/client/program/program.h"

namespace remotecl {

// What CL_PROGRAM_BINARIES gives out: a native binary and, before it, what was known of the kernels' arguments when it
// was built. Native binaries do not tell which arguments are constant, so that of a program made from one, everything
// that kernels read would count as written and lose its copies elsewhere.
//
// | offset | |
// |---|---|
// | 0 | magic, 8 bytes |
// | 8 | version of this format, u32 |
// | 12 | SHA-256 of all that follows |
// | 44 | the kernels of which something is known, encoded as the protocol's messages are |
// | | the native binary, u32 length and bytes |
//
// The digest ties the one to the other: accidents are found out. It proves nothing about who made it, and need not: who
// gives a program a binary says what runs, and so can just as well write to what a kernel calls constant.
struct BinaryContainer {
  std::vector<std::byte> native;
  std::map<std::string, KernelInfo> kernels;  // their names, and kinds and qualifiers of their arguments
};

// Says what is wrong with a container.
struct BinaryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The same bytes for the same content. Just the native binary when nothing is known that it might not tell itself.
std::vector<std::byte> pack_binary(Bytes native, const std::map<std::string, KernelInfo>& kernels);
// Of a binary from anywhere; one that does not begin with the magic is native. Throws BinaryError.
BinaryContainer unpack_binary(Bytes binary);

// Completes what a server found out about a kernel by what the container says; ignores that where the two differ in the
// kinds of arguments. What applications are told remains what the native driver tells.
void complete(KernelInfo& found, const KernelInfo& contained);

}  // namespace remotecl
